// Faults of the device on request, so that a host's answers to them can be tried out.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string_view>

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

// Of an instance, as its option `faults` says: "device_lost:3, late:5".
class Faults {
 public:
  // INVALID_ARGUMENT for anything else.
  static deputy::sdk::Status Parse(std::string_view text, Faults* faults);
  Faults() = default;
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  enum class OfRun { kNone, kDeviceLost, kLate };
  // Of the next run, counted from 1. [any-thread]
  OfRun NextRun();
  // Whether the next submit, counted from 1, finds the queue full. [any-thread]
  bool IsNextSubmitRefused();

 private:
  std::set<uint64_t> lost_, late_, full_;
  std::atomic<uint64_t> runs_{0}, submits_{0};
};

}  // namespace sim_npu
