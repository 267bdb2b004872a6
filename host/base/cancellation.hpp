// Conditions that end a run early: a deadline, a call of Session::Cancel, or a limit of loop steps. The executor checks
// them around each step and each round of a loop; inside a step of the CPU the thread pool checks them between ranges
// of a parallel loop, and long matrix products between their blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include "base/status.hpp"

namespace deputy::host {

// CLOCK_MONOTONIC.
uint64_t NowNs();

// Reaches the call that a run is in, if that call does not check for the end of the run itself. One call at a time.
class CancelHook {
 public:
  // `call` is called at most once for each Call(), from its thread. False, without effect, if one is set already.
  bool Set(void (*call)(void* self), void* self) {
    if (state_.load(std::memory_order_relaxed) != kFree) return false;
    call_ = call;
    self_ = self;
    state_.store(kSet, std::memory_order_seq_cst);
    return true;
  }
  // Waits for a call that has begun.
  void Clear() {
    for (uint32_t set = kSet; !state_.compare_exchange_weak(set, kFree, std::memory_order_acq_rel); set = kSet)
      std::this_thread::yield();
  }
  // Nothing happens while none is set. [any-thread]
  void Call() {
    uint32_t set = kSet;
    if (!state_.compare_exchange_strong(set, kCalling, std::memory_order_seq_cst)) return;
    call_(self_);
    state_.store(kSet, std::memory_order_release);
  }

 private:
  static constexpr uint32_t kFree = 0, kSet = 1, kCalling = 2;
  std::atomic<uint32_t> state_{kFree};
  void (*call_)(void*) = nullptr;
  void* self_ = nullptr;
};

// Iterations of all Loops and Scans of a run. Only the thread of the run changes them.
struct LoopSteps {
  uint64_t limit = UINT64_MAX;
  uint64_t taken = 0;
};

struct CancellationToken {
  uint64_t deadline_ns = 0;                             // CLOCK_MONOTONIC; 0: none
  const std::atomic<uint64_t>* cancelled_ns = nullptr;  // when the run was cancelled, 0 before; null: never
  CancelHook* hook = nullptr;                           // called after cancelled_ns is set; null: none
  LoopSteps* loop_steps = nullptr;                      // null: no limit

  // Whether the run must end. [any-thread]
  bool Due() const { return IsCancelled() || (deadline_ns != 0 && NowNs() > deadline_ns); }
  bool IsCancelled() const { return cancelled_ns != nullptr && cancelled_ns->load() != 0; }
  // kCancelled or kDeadlineExceeded when it is due.
  Status Check() const { return Due() ? Reason() : Status(); }
  // The same where it is known to be due, after a delegate ran to its end: the message says that the delegate did not
  // stop, and how late it was unless the delay was short.
  Status ReasonAfter(const std::string& delegate) const;

 private:
  Status Reason() const;
};

// While it lives, delegates that compile on this thread are asked to end when `token` is due. Nothing else is ended.
class CompilationScope {
 public:
  explicit CompilationScope(const CancellationToken& token);
  ~CompilationScope();
  CompilationScope(const CompilationScope&) = delete;
  CompilationScope& operator=(const CompilationScope&) = delete;

  // That of this thread's innermost scope; null without one.
  static const CancellationToken* Current();

 private:
  const CancellationToken* const before_;
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

// Calls fn(begin, end) for parts of [0, count) that have `part` items, the last one perhaps fewer: for a long loop
// inside one range of the thread pool. Parts that have not begun when this thread's scope ends are left out.
template <class F>
void InParts(int64_t count, int64_t part, F&& fn) {
  if (count <= part) return fn(int64_t{0}, count);
  CancellationScope* const scope = CancellationScope::Current();
  for (int64_t begin = 0; begin < count && (scope == nullptr || !scope->Ends()); begin += part)
    fn(begin, count - begin < part ? count : begin + part);
}

// Elements of a part of a long row.
inline constexpr int64_t kLongRow = int64_t{1} << 22;

// Bytes of a part of a copy that a model may make as long as it likes: milliseconds, also where each page is new.
inline constexpr int64_t kLongCopy = int64_t{4} << 20;

// memcpy and memset to 0 in parts, the rest of which are left out when this thread's scope ends. The results are then
// incomplete, as those of a parallel loop.
inline void CopyInParts(void* to, const void* from, size_t bytes) {
  InParts(static_cast<int64_t>(bytes), kLongCopy, [&](int64_t begin, int64_t end) {
    if (end > begin)
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                  static_cast<size_t>(end - begin));
  });
}
inline void ZeroInParts(void* to, size_t bytes) {
  InParts(static_cast<int64_t>(bytes), kLongCopy, [&](int64_t begin, int64_t end) {
    if (end > begin) std::memset(static_cast<char*>(to) + begin, 0, static_cast<size_t>(end - begin));
  });
}

}  // namespace deputy::host
