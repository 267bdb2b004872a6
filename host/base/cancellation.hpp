// Conditions that end a run early: a deadline, or a call of Session::Cancel. The executor checks them around each step
// and each round of a loop; inside a step of the CPU the thread pool checks them between ranges of a parallel loop.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.hpp"

namespace deputy::host {

// CLOCK_MONOTONIC.
uint64_t NowNs();

struct CancellationToken {
  uint64_t deadline_ns = 0;                             // CLOCK_MONOTONIC; 0: none
  const std::atomic<uint64_t>* cancelled_ns = nullptr;  // when the run was cancelled, 0 before; null: never

  // Whether the run must end. [any-thread]
  bool Due() const {
    return (cancelled_ns != nullptr && cancelled_ns->load(std::memory_order_relaxed) != 0) ||
           (deadline_ns != 0 && NowNs() > deadline_ns);
  }
  // kCancelled or kDeadlineExceeded when it is due.
  Status Check() const { return Due() ? Reason() : Status(); }
  // The same where it is known to be due, after a delegate ran to its end: the message says that the delegate did not
  // stop, and how late it was unless the delay was short.
  Status ReasonAfter(const std::string& delegate) const;

 private:
  Status Reason() const;
};

// While it lives, parallel loops of the thread pool that this thread begins, and those nested in them, skip the ranges
// that have not begun when `stop` becomes due. Their results are then incomplete: the owner of the scope checks
// stopped() and discards them. No address or other value that could be unsafe may be computed from them.
class CancellationScope {
 public:
  explicit CancellationScope(const CancellationToken* stop);  // null: nothing is skipped
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  // The innermost scope of this thread that has a token; null if there is none.
  static CancellationScope* Current();
  // No further range may begin. [any-thread]
  bool Ends() {
    if (stopped()) return true;
    if (!stop_->Due()) return false;
    stopped_.store(true, std::memory_order_relaxed);
    return true;
  }

  // Applies a scope of another thread to this one, for a range of its loop.
  class Share {
   public:
    explicit Share(CancellationScope* scope);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    CancellationScope* const before_;
  };

 private:
  const CancellationToken* const stop_;
  CancellationScope* const before_;
  std::atomic<bool> stopped_{false};
};

}  // namespace deputy::host
