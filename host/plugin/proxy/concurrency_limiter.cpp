#include "plugin/proxy/concurrency_limiter.hpp"

#include <algorithm>
#include <chrono>

namespace deputy::host {

ConcurrencyLimiter::Pass::Pass(ConcurrencyLimiter& limiter, const void* instance, const void* executable,
                               const RunRules& rules, const PassRequest& request)
    : limiter_(limiter), instance_(instance), executable_(executable), rules_(rules), priority_(request.priority) {
  std::unique_lock lock(limiter_.mutex_);
  before_ = limiter_.last_;
  if (before_ != nullptr) before_->after_ = this;
  limiter_.last_ = this;
  while (MustWait(*this)) {
    if (request.token == nullptr) {
      limiter_.changed_.wait(lock);
    } else if (request.token->Due()) {
      return;
    } else if (request.token->deadline_ns == 0) {
      limiter_.changed_.wait(lock);
    } else {
      constexpr uint64_t kLongestWaitNs = 3600'000'000'000;  // further ones could overflow the clock
      const uint64_t now_ns = NowNs(), deadline_ns = std::max(request.token->deadline_ns, now_ns);
      limiter_.changed_.wait_for(lock, std::chrono::nanoseconds(std::min(deadline_ns - now_ns, kLongestWaitNs) + 1));
    }
  }
  has_turn_ = true;
  for (Pass* earlier = before_; earlier != nullptr; earlier = earlier->before_)
    if (!earlier->has_turn_ && !MayOverlap(*earlier, *this)) ++earlier->overtakes_;
}

ConcurrencyLimiter::Pass::~Pass() {
  {
    const std::lock_guard lock(limiter_.mutex_);
    if (before_ != nullptr) before_->after_ = after_;
    if (after_ != nullptr) after_->before_ = before_;
    if (limiter_.last_ == this) limiter_.last_ = before_;
  }
  limiter_.changed_.notify_all();
}

bool ConcurrencyLimiter::MayOverlap(const Pass& a, const Pass& b) {
  const bool a_loads = a.executable_ == nullptr, b_loads = b.executable_ == nullptr;
  if (a_loads && b_loads) return a.instance_ != b.instance_ && a.rules_.instances && b.rules_.instances;
  if (a_loads || b_loads) return a.rules_.loads && b.rules_.loads;
  if (a.instance_ != b.instance_) return a.rules_.instances && b.rules_.instances;
  return a.executable_ == b.executable_ ? a.rules_.contexts : a.rules_.executables;
}

// The calls that wait have an order: first those that were overtaken most, then by priority, then by arrival.
bool ConcurrencyLimiter::Precedes(const Pass& earlier, const Pass& later) {
  if (earlier.overtakes_ >= kMostOvertakes) return true;
  return later.overtakes_ < kMostOvertakes && earlier.priority_ >= later.priority_;
}

bool ConcurrencyLimiter::MustWait(const Pass& pass) {
  for (const Pass* earlier = pass.before_; earlier != nullptr; earlier = earlier->before_)
    if (!MayOverlap(*earlier, pass) && (earlier->has_turn_ || Precedes(*earlier, pass))) return true;
  for (const Pass* later = pass.after_; later != nullptr; later = later->after_)
    if (!MayOverlap(*later, pass) && (later->has_turn_ || !Precedes(pass, *later))) return true;
  return false;
}

size_t ConcurrencyLimiter::waiting() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const Pass* pass = last_; pass != nullptr; pass = pass->before_) count += !pass->has_turn_;
  return count;
}

void ConcurrencyLimiter::Wake() {
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

}  // namespace deputy::host
