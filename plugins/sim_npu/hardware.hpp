// The simulated machine's devices. They exist even if no instance is open: each has one clock, one queue and one
// memory, which all instances on it share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "memory.hpp"

namespace sim_npu {

inline constexpr uint64_t kMegahertz = 1'000'000;
inline constexpr uint64_t kLowestHz = 300 * kMegahertz, kHighestHz = 1200 * kMegahertz, kStepHz = 150 * kMegahertz;

class Hardware {
 public:
  Hardware(std::string_view name, size_t memory_bytes)
      : name_(name), memory_(std::make_shared<DeviceMemory>(memory_bytes)) {}

  std::string_view name() const { return name_; }
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  // One run at a time; a program's arena is therefore enough for all sessions.
  std::mutex& queue() { return queue_; }
  // The current clock: the highest requested frequency, or the lowest of the device without a request. [any-thread]
  uint64_t frequency_hz() const;

 private:
  friend class ClockVote;
  const std::string_view name_;
  const std::shared_ptr<DeviceMemory> memory_;
  std::mutex queue_;
  mutable std::mutex mutex_;
  std::multiset<uint64_t> wishes_;
};

// Requests a clock during its lifetime, however the owning instance ends.
class ClockVote {
 public:
  ClockVote(Hardware& hardware, uint64_t hz);
  ~ClockVote();
  ClockVote(const ClockVote&) = delete;
  ClockVote& operator=(const ClockVote&) = delete;

 private:
  Hardware& hardware_;
  const uint64_t hz_;
};

// The machine's devices, by number.
std::array<Hardware, 2>& Machine();

}  // namespace sim_npu
