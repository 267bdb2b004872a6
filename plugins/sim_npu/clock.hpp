// An instance's view of its device's clock: the requested and the granted frequency, and the cycles of its work. The
// model is stated in README.md; every cycle is one of this clock, so that device time is exactly inversely proportional
// to the frequency.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "deputy/sdk/sdk.hpp"
#include "hardware.hpp"

namespace sim_npu {

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

class Clock {
 public:
  Clock(Hardware& hardware, const deputy::sdk::FrequencyWish& wish)
      : hardware_(hardware), wish_(wish), vote_(hardware, GrantedHz(wish)) {}

  // At least the granted frequency: another instance on the same device may have requested more. [any-thread]
  uint64_t hz() const { return hardware_.frequency_hz(); }
  // Records the cycles of a finished run at this frequency. [any-thread]
  void Spend(uint64_t cycles, uint64_t hz);
  void Spend(uint64_t cycles) { Spend(cycles, hz()); }
  // The device's time of all runs: its own clock, which does not advance between them. [any-thread]
  uint64_t busy_ns() const;
  // [any-thread]
  deputy::sdk::DeviceState State() const;

 private:
  static constexpr size_t kSteps = (kHighestHz - kLowestHz) / kStepHz + 1;

  Hardware& hardware_;
  const deputy::sdk::FrequencyWish wish_;
  const ClockVote vote_;
  std::array<std::atomic<uint64_t>, kSteps> cycles_{};  // at each frequency
  std::atomic<uint64_t> runs_{0};
};

}  // namespace sim_npu
