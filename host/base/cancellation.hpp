// What ends a run before its time: a deadline, or a call of Session::Cancel. The executor looks at it around each step
// and each round of a loop; inside a step of the CPU the thread pool does, between ranges of a parallel loop.
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

  // Whether the run has to end. [any-thread]
  bool Due() const {
    return (cancelled_ns != nullptr && cancelled_ns->load(std::memory_order_relaxed) != 0) ||
           (deadline_ns != 0 && NowNs() > deadline_ns);
  }
  // kCancelled or kDeadlineExceeded when it is due.
  Status Check() const { return Due() ? Reason() : Status(); }
  // The same where it is known to be due, after a delegate ran to its end: says that it did not stop and how late it
  // was, unless that was a moment only.
  Status ReasonAfter(const std::string& delegate) const;

 private:
  Status Reason() const;
};

// While it lives, parallel loops of the thread pool that this thread begins, and those nested in them, leave out what
// they have not begun when `stop` becomes due. Their results are then incomplete: whoever made the scope asks stopped()
// and discards them. Nothing else may be computed from them that could go wrong, such as an address.
class CancellationScope {
 public:
  explicit CancellationScope(const CancellationToken* stop);  // null: nothing is left out
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  // The innermost one of this thread that has a stop; null: there is none.
  static CancellationScope* Current();
  // From now on nothing more is to be begun. [any-thread]
  bool Ends() {
    if (stopped()) return true;
    if (!stop_->Due()) return false;
    stopped_.store(true, std::memory_order_relaxed);
    return true;
  }

  // Makes a scope of another thread that of this one, for a range of its loop.
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
