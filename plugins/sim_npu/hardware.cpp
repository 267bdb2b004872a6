#include "hardware.hpp"

namespace sim_npu {

uint64_t Hardware::frequency_hz() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return wishes_.empty() ? kLowestHz : *wishes_.rbegin();
}

ClockVote::ClockVote(Hardware& hardware, uint64_t hz) : hardware_(hardware), hz_(hz) {
  const std::lock_guard<std::mutex> lock(hardware_.mutex_);
  hardware_.wishes_.insert(hz_);
}

ClockVote::~ClockVote() {
  const std::lock_guard<std::mutex> lock(hardware_.mutex_);
  hardware_.wishes_.erase(hardware_.wishes_.find(hz_));
}

std::array<Hardware, 2>& Machine() {
  constexpr size_t kMebibyte = 1u << 20;
  // Never destroyed: opened instances may outlive this library's statics.
  static auto& machine = *new std::array<Hardware, 2>{{{"SimNPU", 128 * kMebibyte}, {"SimNPU-XL", 512 * kMebibyte}}};
  return machine;
}

}  // namespace sim_npu
