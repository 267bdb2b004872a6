#include "plugin/proxy/concurrency_limiter.hpp"

namespace deputy::host {

ConcurrencyLimiter::Pass::Pass(ConcurrencyLimiter& limiter, const void* instance, const void* executable,
                               const RunRules& rules)
    : limiter_(limiter), instance_(instance), executable_(executable), rules_(rules) {
  std::unique_lock lock(limiter_.mutex_);
  before_ = limiter_.last_;
  if (before_ != nullptr) before_->after_ = this;
  limiter_.last_ = this;
  limiter_.changed_.wait(lock, [this] { return !MustWait(*this); });
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

bool ConcurrencyLimiter::MustWait(const Pass& pass) {
  for (const Pass* earlier = pass.before_; earlier != nullptr; earlier = earlier->before_)
    if (!MayOverlap(*earlier, pass)) return true;
  return false;
}

}  // namespace deputy::host
