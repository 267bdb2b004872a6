// Long loops inside one range of the thread pool: how often they look whether the run has ended.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/cancellation.hpp"
#include "base/status.hpp"

namespace deputy::host {

// Elementary steps of a loop, of a nanosecond or a few each, between two checks whether the run ends.
inline constexpr int64_t kStepsOfPart = int64_t{1} << 22;

// Counts the steps of loops, and looks whether the run ends after every kStepsOfPart of them. It goes on with the count
// of the last one of this thread, so that many short loops are looked after as well.
class EndCheck {
 public:
  EndCheck() {
    if (const CancellationScope* const scope = CancellationScope::Current()) ended_ = scope->stopped();
  }
  ~EndCheck() { left_of_thread_ = left_; }
  EndCheck(const EndCheck&) = delete;
  EndCheck& operator=(const EndCheck&) = delete;

  // True when the run has ended, after `steps` more; what the loop has not done yet is then left out.
  bool Ends(int64_t steps) {
    if (steps < left_) {
      left_ -= steps;
      return ended_;
    }
    left_ = kStepsOfPart;
    CancellationScope* const scope = CancellationScope::Current();
    return ended_ = scope != nullptr && scope->Ends();
  }
  // What Ends found last.
  bool ended() const { return ended_; }

 private:
  static inline thread_local int64_t left_of_thread_ = kStepsOfPart;

  int64_t left_ = left_of_thread_;
  bool ended_ = false;
};

// kCancelled after the run has ended on this thread: what a kernel has collected may be incomplete, and no address may
// be computed from it.
inline Status CheckComplete() {
  const CancellationScope* const scope = CancellationScope::Current();
  return scope != nullptr && scope->stopped() ? Error(StatusCode::kCancelled, "the run has ended") : Status();
}

// The product of non-negative numbers; the largest number where it overflows.
inline int64_t StepsOf(int64_t a, int64_t b, int64_t c = 1) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, c, &product) ? INT64_MAX : product;
}

// The levels of halving `count`, which is not negative, down to 0: the depth of a sort or of a transform.
// std::bit_width has the type of its argument in libstdc++ before 13.
inline int64_t LevelsOf(int64_t count) { return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(count))); }

// Calls fn(i) for begin <= i < end, each of which takes so many steps, until the run ends.
template <class F>
void ForEachUntilEnd(int64_t begin, int64_t end, int64_t steps, F&& fn) {
  EndCheck check;
  for (int64_t i = begin; i < end; ++i) {
    fn(i);
    if (check.Ends(steps)) return;
  }
}

// InParts for items of so many steps.
template <class F>
void InPartsOf(int64_t count, int64_t steps, F&& fn) {
  InParts(count, std::max<int64_t>(1, kStepsOfPart / std::max<int64_t>(1, steps)), fn);
}

}  // namespace deputy::host
