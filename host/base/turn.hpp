// Calls that wait for the same thing: their order, and waits that have a limit.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/cancellation.hpp"

namespace deputy::host {

// The place of a call among those that wait: the largest priority is first, then the first to come. A call that so many
// later ones have overtaken is before all that were not.
struct Turn {
  static constexpr uint32_t kMostOvertakes = 16;

  uint64_t number = 0;  // in the order of arrival
  int32_t priority = 0;
  uint32_t overtakes = 0;

  bool Precedes(const Turn& other) const {
    const bool is_due = overtakes >= kMostOvertakes, other_is_due = other.overtakes >= kMostOvertakes;
    if (is_due != other_is_due) return is_due;
    if (!is_due && priority != other.priority) return priority > other.priority;
    return number < other.number;
  }
  // The other call goes first.
  void LetPass(const Turn& other) {
    if (number < other.number) ++overtakes;
  }
};

// Waits for a notification, at most until CLOCK_MONOTONIC is beyond `deadline_ns`, and at most an hour, since more
// could overflow the clock: the caller looks again what it waits for.
inline void WaitUntil(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, uint64_t deadline_ns) {
  constexpr uint64_t kLongestNs = 3600'000'000'000;
  const uint64_t now_ns = NowNs(), left_ns = deadline_ns < now_ns ? 0 : std::min(deadline_ns - now_ns, kLongestNs);
  changed.wait_for(lock, std::chrono::nanoseconds(left_ns + 1));
}

}  // namespace deputy::host
