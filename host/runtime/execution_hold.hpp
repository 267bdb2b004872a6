// The right to use the execution of a session: a call or a run has it, or a reload that takes the execution away.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace deputy::host {

// [any-thread]
class ExecutionHold {
 public:
  // Waits for the holder: a reload, which only moves pointers, as calls of one session do not overlap.
  void Take() {
    for (State free = State::kFree;
         !state_.compare_exchange_weak(free, State::kHeld, std::memory_order_acquire, std::memory_order_relaxed);
         free = State::kFree)
      std::this_thread::yield();
  }
  // Of the holder. False: it was asked to let go of former plans, is still the holder, and returns it again.
  bool Return() {
    State held = State::kHeld;
    if (state_.compare_exchange_strong(held, State::kFree, std::memory_order_release, std::memory_order_acquire))
      return true;
    state_.store(State::kHeld, std::memory_order_relaxed);
    return false;
  }
  // Takes it if it is free; else asks its holder.
  bool TakeOrAsk() {
    State now = State::kFree;
    while (!state_.compare_exchange_weak(now, now == State::kFree ? State::kHeld : State::kAsked,
                                         std::memory_order_acq_rel, std::memory_order_acquire)) {
    }
    return now == State::kFree;
  }

 private:
  enum class State : uint8_t { kFree, kHeld, kAsked };
  std::atomic<State> state_{State::kFree};
};

}  // namespace deputy::host
