// How long a wait for a worker process may take: asked before each read and write, inside of messages too.
#pragma once

#include <chrono>

#include "base/function_ref.hpp"

namespace deputy::host {

class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

  // None: a wait takes as long as it takes.
  TimeLimit() = default;
  // From now on.
  static TimeLimit Within(std::chrono::nanoseconds most) { return TimeLimit(Clock::now() + most); }

  // Whether there is one; the clock is not read where there is none.
  bool exists() const { return end_ != Clock::time_point::max(); }
  bool is_over() const { return exists() && Clock::now() >= end_; }
  // The largest number where there is none.
  std::chrono::nanoseconds left() const;
  // Ends at the earlier of its end and that time from now; looks as this one does.
  TimeLimit AtMost(std::chrono::nanoseconds most) const;

  // `look` is called by each wait every few milliseconds, and outlives the limit.
  void LookWith(const FunctionRef<void()>& look) { look_ = &look; }
  bool looks() const { return look_ != nullptr; }
  void Look() const {
    if (look_ != nullptr) (*look_)();
  }
  // The most that a thread sleeps before it looks, and asks is_over(), again.
  std::chrono::nanoseconds nap() const;

 protected:
  explicit TimeLimit(Clock::time_point end) : end_(end) {}

  Clock::time_point end_ = Clock::time_point::max();

 private:
  const FunctionRef<void()>* look_ = nullptr;
};

}  // namespace deputy::host
