#include "clock.hpp"

#include <algorithm>
#include <chrono>

namespace sim_npu {

using deputy::sdk::Code;
using deputy::sdk::Host;
using deputy::sdk::RunArgs;
using deputy::sdk::Status;

namespace {

uint64_t DividedUp(uint64_t amount, uint64_t per_cycle) { return (amount + per_cycle - 1) / per_cycle; }

}  // namespace

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

uint64_t CyclesOf(const Work& work) {
  return kCyclesPerLayer + DividedUp(work.macs, kMacsPerCycle) + DividedUp(work.bytes, kBytesPerCycle);
}

uint64_t GrantedHz(const deputy::sdk::FrequencyWish& wish) {
  if (wish.level != 0) return kLevelHz[std::min<uint32_t>(wish.level, 4) - 1];
  const uint64_t step = std::clamp(wish.hertz, kLowestHz, kHighestHz) / kStepHz;
  return step * kStepHz;
}

// In two parts, because cycles times 1e9 leaves 64 bits after 15 seconds of work.
uint64_t NanosecondsOf(uint64_t cycles, uint64_t hz) {
  return cycles / hz * 1'000'000'000 + cycles % hz * 1'000'000'000 / hz;
}

uint64_t NanojoulesOf(uint64_t cycles, uint64_t hz) {
  const uint64_t steps = hz / kStepHz, reference = 600 * kMegahertz / kStepHz;
  return cycles * steps * steps / (reference * reference);
}

template <class Ready>
Status DeviceQueue::Wait(const Ready& ready, uint64_t wake_ns, const RunArgs& run, const Host& host,
                         std::unique_lock<std::mutex>& lock) {
  constexpr uint64_t kLongestWaitNs = 3600'000'000'000;  // further ones could overflow the clock
  const uint64_t deadline_ns = run.deadline_ns() == 0 ? UINT64_MAX : run.deadline_ns();
  for (;;) {
    if (run.cancelled()) return Status(Code::kCancelled, "the run was cancelled");
    const uint64_t now_ns = host.clock_ns();
    if (ready(now_ns)) return {};
    if (now_ns > deadline_ns) return Status(Code::kDeadlineExceeded, "the run did not end in time");
    // A deadline has passed when the clock is beyond it.
    const uint64_t wait_ns = std::min(std::min(wake_ns, deadline_ns) - now_ns, kLongestWaitNs);
    changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns + 1));
  }
}

Status DeviceQueue::Enter(const RunArgs& run, const Host& host) {
  std::unique_lock<std::mutex> lock(mutex_);
  DEPUTY_SDK_RETURN_IF_ERROR(Wait([this](uint64_t) { return !in_use_; }, UINT64_MAX, run, host, lock));
  in_use_ = true;
  return {};
}

void DeviceQueue::Leave() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_use_ = false;
  }
  changed_.notify_all();
}

Status DeviceQueue::Until(uint64_t end_ns, const RunArgs& run, const Host& host) {
  std::unique_lock<std::mutex> lock(mutex_);
  return Wait([end_ns](uint64_t now_ns) { return now_ns >= end_ns; }, end_ns, run, host, lock);
}

void DeviceQueue::Interrupt() {
  { const std::lock_guard<std::mutex> lock(mutex_); }
  changed_.notify_all();
}

void Clock::Request(const deputy::sdk::FrequencyWish& wish) {
  auto vote = std::make_unique<const ClockVote>(hardware_, GrantedHz(wish));
  const std::lock_guard<std::mutex> lock(mutex_);
  wish_ = wish;
  vote_.swap(vote);
}

void Clock::SpendOnCopy(uint64_t cycles, uint64_t hz) {
  cycles_[(hz - kLowestHz) / kStepHz].fetch_add(cycles, std::memory_order_relaxed);
}

void Clock::Spend(uint64_t cycles, uint64_t hz) {
  SpendOnCopy(cycles, hz);
  runs_.fetch_add(1, std::memory_order_relaxed);
}

uint64_t Clock::busy_ns() const {
  uint64_t busy_ns = 0;
  for (size_t step = 0; step < kSteps; ++step)
    busy_ns += NanosecondsOf(cycles_[step].load(std::memory_order_relaxed), kLowestHz + step * kStepHz);
  return busy_ns;
}

deputy::sdk::DeviceState Clock::State() const {
  deputy::sdk::DeviceState state;
  state.device_name = hardware_.name();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    state.level_requested = wish_.level;
    state.frequency_requested_hz = wish_.level != 0 ? 0 : wish_.hertz;
  }
  state.frequency_granted_hz = hz();
  for (uint32_t level = 1; level <= 4; ++level)
    if (kLevelHz[level - 1] == state.frequency_granted_hz) state.level_granted = level;
  state.busy_ns = busy_ns();
  state.runs = runs_.load(std::memory_order_relaxed);
  return state;
}

}  // namespace sim_npu
