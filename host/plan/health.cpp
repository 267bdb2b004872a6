#include "plan/health.hpp"

#include <algorithm>

#include "base/cancellation.hpp"

namespace deputy::host {

bool DelegateHealth::DeviceFailed() {
  const MutexLock lock(mutex_);
  const uint64_t now = NowNs();
  while (!failures_.empty() && failures_.front() + kWindowNs < now) failures_.pop_front();
  failures_.push_back(now);
  if (failures_.size() > kFailuresToOpen) failures_.pop_front();
  if (failures_.size() < kFailuresToOpen && back_off_ns_ == 0) return false;
  back_off_ns_ = back_off_ns_ == 0 ? kFirstBackOffNs : std::min(2 * back_off_ns_, kLongestBackOffNs);
  open_until_ns_.store(now + back_off_ns_, std::memory_order_relaxed);
  return true;
}

// The caller that moves the end of the back-off makes the trial; all others wait for its result.
bool DelegateHealth::AdmitsTrial(uint64_t until) {
  const uint64_t now = NowNs();
  return now >= until && open_until_ns_.compare_exchange_strong(until, now + kFirstBackOffNs);
}

void DelegateHealth::Close() {
  const MutexLock lock(mutex_);
  failures_.clear();
  back_off_ns_ = 0;
  open_until_ns_.store(0, std::memory_order_relaxed);
}

}  // namespace deputy::host
