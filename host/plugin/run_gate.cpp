#include "plugin/run_gate.hpp"

namespace deputy::host {

RunGate::Pass::Pass(RunGate& gate, const void* instance, const void* executable, const RunRules& rules)
    : gate_(gate), instance_(instance), executable_(executable), rules_(rules) {
  std::unique_lock lock(gate_.mutex_);
  before_ = gate_.last_;
  if (before_ != nullptr) before_->after_ = this;
  gate_.last_ = this;
  gate_.changed_.wait(lock, [this] { return !MustWait(*this); });
}

RunGate::Pass::~Pass() {
  {
    const std::lock_guard lock(gate_.mutex_);
    if (before_ != nullptr) before_->after_ = after_;
    if (after_ != nullptr) after_->before_ = before_;
    if (gate_.last_ == this) gate_.last_ = before_;
  }
  gate_.changed_.notify_all();
}

bool RunGate::MayOverlap(const Pass& a, const Pass& b) {
  if (a.instance_ != b.instance_) return a.rules_.instances && b.rules_.instances;
  return a.executable_ == b.executable_ ? a.rules_.contexts : a.rules_.executables;
}

bool RunGate::MustWait(const Pass& pass) {
  for (const Pass* earlier = pass.before_; earlier != nullptr; earlier = earlier->before_)
    if (!MayOverlap(*earlier, pass)) return true;
  return false;
}

}  // namespace deputy::host
