// The device's clock: which frequencies it has, what it grants, and how many cycles work takes. The model is stated in
// README.md; every cycle is one of this clock, so that device time is exactly inversely proportional to the frequency.
#pragma once

#include <atomic>
#include <cstdint>

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

inline constexpr uint64_t kMegahertz = 1'000'000;
inline constexpr uint64_t kLowestHz = 300 * kMegahertz, kHighestHz = 1200 * kMegahertz, kStepHz = 150 * kMegahertz;
inline constexpr uint64_t kLevelHz[] = {300 * kMegahertz, 600 * kMegahertz, 900 * kMegahertz, 1200 * kMegahertz};
inline constexpr uint32_t kDefaultLevel = 3;

inline constexpr uint64_t kMacsPerCycle = 512;
inline constexpr uint64_t kBytesPerCycle = 32;
inline constexpr uint64_t kCyclesPerLayer = 1500;

// What one layer asks of the device.
struct Work {
  uint64_t macs = 0;   // multiply-accumulates; an element-wise operation counts as one
  uint64_t bytes = 0;  // moved between the device's memory and its arithmetic: operands, weights, result
};
uint64_t CyclesOf(const Work& work);

// The fastest step that is not above the wish.
uint64_t GrantedHz(const deputy::sdk::FrequencyWish& wish);

class Clock {
 public:
  Clock() = default;
  explicit Clock(const deputy::sdk::FrequencyWish& wish) : wish_(wish), granted_hz_(GrantedHz(wish)) {}

  uint64_t granted_hz() const { return granted_hz_; }
  // A run is over. [any-thread]
  void Spend(uint64_t cycles) {
    cycles_.fetch_add(cycles, std::memory_order_relaxed);
    runs_.fetch_add(1, std::memory_order_relaxed);
  }
  // [any-thread]
  uint64_t cycles() const { return cycles_.load(std::memory_order_relaxed); }
  // The time that so many cycles take. [any-thread]
  uint64_t Nanoseconds(uint64_t cycles) const;
  // [any-thread]
  deputy::sdk::DeviceState State() const;

 private:
  deputy::sdk::FrequencyWish wish_;
  uint64_t granted_hz_ = kLevelHz[kDefaultLevel - 1];
  std::atomic<uint64_t> cycles_{0}, runs_{0};
};

}  // namespace sim_npu
