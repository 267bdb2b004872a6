// The simulated machine's devices, which exist even if no instance is open, and an instance's view of its device's
// clock. The model is stated in README.md; every cycle is one of this clock, so that device time is exactly inversely
// proportional to the frequency.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "deputy/sdk/sdk.hpp"
#include "memory.hpp"

namespace sim_npu {

inline constexpr uint64_t kMegahertz = 1'000'000;
inline constexpr uint64_t kLowestHz = 300 * kMegahertz, kHighestHz = 1200 * kMegahertz, kStepHz = 150 * kMegahertz;

// The runs of a device, one at a time. A wait uses no CPU, and ends early when its run is cancelled or late: the status
// says which. [any-thread]
class DeviceQueue {
 public:
  // Waits for the run that the device computes. After a success the caller has the device until Leave.
  deputy::sdk::Status Enter(const deputy::sdk::RunArgs& run, const deputy::sdk::Host& host);
  void Leave();
  // Waits until CLOCK_MONOTONIC has reached `end_ns`.
  deputy::sdk::Status Until(uint64_t end_ns, const deputy::sdk::RunArgs& run, const deputy::sdk::Host& host);
  // Runs that wait look again whether they are cancelled.
  void Interrupt();

 private:
  template <class Ready>
  deputy::sdk::Status Wait(const Ready& ready, uint64_t wake_ns, const deputy::sdk::RunArgs& run,
                           const deputy::sdk::Host& host, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool in_use_ = false;
};

// A device: one clock, one queue and one memory, which all instances on it share.
class Hardware {
 public:
  Hardware(std::string_view name, size_t memory_bytes)
      : name_(name), memory_(std::make_shared<DeviceMemory>(memory_bytes)) {}

  std::string_view name() const { return name_; }
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  // A program's arena is enough for all sessions, since it is used by one run at a time.
  DeviceQueue& queue() { return queue_; }
  // The current clock: the highest requested frequency, or the lowest of the device without a request. [any-thread]
  uint64_t frequency_hz() const;

 private:
  friend class ClockVote;
  const std::string_view name_;
  const std::shared_ptr<DeviceMemory> memory_;
  DeviceQueue queue_;
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

inline constexpr uint64_t kLevelHz[] = {300 * kMegahertz, 600 * kMegahertz, 900 * kMegahertz, 1200 * kMegahertz};
inline constexpr uint32_t kDefaultLevel = 3;

inline constexpr uint64_t kMacsPerCycle = 512;
inline constexpr uint64_t kBytesPerCycle = 32;
inline constexpr uint64_t kCyclesPerLayer = 1500;

// The work of one layer.
struct Work {
  uint64_t macs = 0;   // multiply-accumulates; an element-wise operation counts as one
  uint64_t bytes = 0;  // moved between the device's memory and its arithmetic: operands, weights, result
};
uint64_t CyclesOf(const Work& work);
// Time and energy of cycles at a frequency.
uint64_t NanosecondsOf(uint64_t cycles, uint64_t hz);
uint64_t NanojoulesOf(uint64_t cycles, uint64_t hz);

// The highest step that does not exceed the wish.
uint64_t GrantedHz(const deputy::sdk::FrequencyWish& wish);

// The requested and the granted frequency of an instance, and the cycles of its work.
class Clock {
 public:
  Clock(Hardware& hardware, const deputy::sdk::FrequencyWish& wish) : hardware_(hardware) { Request(wish); }

  // For runs that begin afterwards. [any-thread]
  void Request(const deputy::sdk::FrequencyWish& wish);

  // At least the granted frequency: another instance on the same device may have requested more. [any-thread]
  uint64_t hz() const { return hardware_.frequency_hz(); }
  // Records the cycles of a finished run at this frequency. [any-thread]
  void Spend(uint64_t cycles, uint64_t hz);
  void Spend(uint64_t cycles) { Spend(cycles, hz()); }
  // The same for a copy that is no part of a run. [any-thread]
  void SpendOnCopy(uint64_t cycles, uint64_t hz);
  // The device's time of all runs: its own clock, which does not advance between them. [any-thread]
  uint64_t busy_ns() const;
  // [any-thread]
  deputy::sdk::DeviceState State() const;

 private:
  static constexpr size_t kSteps = (kHighestHz - kLowestHz) / kStepHz + 1;

  Hardware& hardware_;
  mutable std::mutex mutex_;  // of the two below
  deputy::sdk::FrequencyWish wish_;
  std::unique_ptr<const ClockVote> vote_;
  std::array<std::atomic<uint64_t>, kSteps> cycles_{};  // at each frequency
  std::atomic<uint64_t> runs_{0};
};

}  // namespace sim_npu
