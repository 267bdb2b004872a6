#include "plugin/proxy/concurrency_limiter.hpp"

namespace deputy::host {

ConcurrencyLimiter::Pass::Pass(ConcurrencyLimiter& limiter, const void* instance, const void* executable,
                               const RunRules& rules, const PassRequest& request)
    : limiter_(limiter), instance_(instance), executable_(executable), rules_(rules) {
  std::unique_lock lock(limiter_.mutex_);
  turn_ = {++limiter_.passes_, request.priority};
  before_ = limiter_.last_;
  if (before_ != nullptr) before_->after_ = this;
  limiter_.last_ = this;
  const uint64_t deadline_ns = request.token == nullptr ? 0 : request.token->deadline_ns;
  while (limiter_.MustWait(*this)) {
    if (request.token != nullptr && request.token->Due()) return;
    WaitUntil(limiter_.changed_, lock, deadline_ns == 0 ? UINT64_MAX : deadline_ns);
  }
  has_turn_ = true;
  for (Pass* earlier = before_; earlier != nullptr; earlier = earlier->before_)
    if (!earlier->has_turn_ && !MayOverlap(*earlier, *this)) earlier->turn_.LetPass(turn_);
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

bool ConcurrencyLimiter::MustWait(const Pass& pass) const {
  for (const Pass* other = last_; other != nullptr; other = other->before_)
    if (other != &pass && !MayOverlap(*other, pass) && (other->has_turn_ || other->turn_.Precedes(pass.turn_)))
      return true;
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
