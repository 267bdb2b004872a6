// The right to use the execution of a session. Calls that compute have it by SessionUse, and look at this one, so that
// they pay nothing for it; runs of requests, short calls and reloads take it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace deputy::host {

// The use of a session by a call that computes, or by its requests in flight.
enum class SessionUse : uint8_t { kFree, kCall, kRequests };

// A reload that takes the hold looks for a call afterwards, and a call that begins looks for the hold afterwards: of
// two at once, at least one sees the other. [any-thread]
class ExecutionHold {
 public:
  bool TryTake() { return !is_taken_.exchange(true); }
  // Waits for others: a reload, which only moves pointers; calls and runs do not overlap.
  void Take() {
    while (!TryTake()) std::this_thread::yield();
  }
  void Return() { is_taken_.store(false, std::memory_order_release); }
  void WaitUntilFree() const {
    while (is_taken_.load()) std::this_thread::yield();
  }

 private:
  std::atomic<bool> is_taken_{false};
};

}  // namespace deputy::host
