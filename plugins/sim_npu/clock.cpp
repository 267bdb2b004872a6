#include "clock.hpp"

#include <algorithm>

namespace sim_npu {
namespace {

uint64_t DividedUp(uint64_t amount, uint64_t per_cycle) { return (amount + per_cycle - 1) / per_cycle; }

}  // namespace

uint64_t CyclesOf(const Work& work) {
  return kCyclesPerLayer + DividedUp(work.macs, kMacsPerCycle) + DividedUp(work.bytes, kBytesPerCycle);
}

uint64_t GrantedHz(const deputy::sdk::FrequencyWish& wish) {
  if (wish.level != 0) return kLevelHz[std::min<uint32_t>(wish.level, 4) - 1];
  const uint64_t step = std::clamp(wish.hertz, kLowestHz, kHighestHz) / kStepHz;
  return step * kStepHz;
}

uint64_t Clock::Nanoseconds(uint64_t cycles) const {
  // In two parts, because cycles times 1e9 leaves 64 bits after 15 seconds of work.
  return cycles / granted_hz_ * 1'000'000'000 + cycles % granted_hz_ * 1'000'000'000 / granted_hz_;
}

deputy::sdk::DeviceState Clock::State() const {
  deputy::sdk::DeviceState state;
  state.device_name = "SimNPU";
  state.level_requested = wish_.level;
  state.frequency_requested_hz = wish_.level != 0 ? 0 : wish_.hertz;
  state.frequency_granted_hz = granted_hz_;
  for (uint32_t level = 1; level <= 4; ++level)
    if (kLevelHz[level - 1] == granted_hz_) state.level_granted = level;
  state.busy_ns = Nanoseconds(cycles());
  state.runs = runs_.load(std::memory_order_relaxed);
  return state;
}

}  // namespace sim_npu
