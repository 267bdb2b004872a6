// The order of steps that does not depend on when they run: which steps must have ended before another one may begin.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace deputy::host {

class StepOrder {
 public:
  // Memory is quadratic in the number of steps. With more steps than these nothing is known of their order.
  static constexpr size_t kMostSteps = 4096;

  // Nothing is known.
  StepOrder() = default;
  // Sets Step::waits. Without known order they are the producers of all values that a step reads.
  explicit StepOrder(Plan& plan);

  bool is_known() const { return words_ != 0; }
  // Whether `earlier` has ended before `later` begins in every order that the waits allow; false where it is not known.
  bool Precedes(uint32_t earlier, uint32_t later) const {
    return is_known() && (before_[later * words_ + earlier / 64] >> (earlier % 64) & 1) != 0;
  }

 private:
  void Wait(Step& step, uint32_t index, uint32_t producer);

  size_t words_ = 0;              // of 64 bits, per step
  std::vector<uint64_t> before_;  // per step, a bit for each step that precedes it
};

}  // namespace deputy::host
