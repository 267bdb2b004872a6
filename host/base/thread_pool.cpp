#include "base/thread_pool.hpp"

#include <sched.h>

#include <algorithm>

#include "base/cancellation.hpp"

namespace deputy::host {
namespace {

// Rounds of polling before a thread sleeps in the kernel. A blocking wake-up costs tens of microseconds, a polled one
// less than one; on a machine with a single CPU polling only keeps the other side from running.
int SpinRounds() {
  static const int rounds = std::thread::hardware_concurrency() > 1 ? 4000 : 0;
  return rounds;
}

// Runs [begin, end) in pieces, between which a run can be cancelled. Their size depends only on values that are the
// same in every run, so that results are, too.
void RunPieces(CancellationScope& scope, FunctionRef<void(int64_t, int64_t)> fn, int64_t begin, int64_t end,
               int64_t shortest) {
  const int64_t length = end - begin, pieces = std::max<int64_t>(1, length / shortest);
  const int64_t size = length / pieces, longer = length % pieces;  // the first ones have one item more
  for (int64_t i = 0; i < pieces && !scope.Ends(); ++i) {
    const int64_t next = begin + size + (i < longer ? 1 : 0);
    fn(begin, next);
    begin = next;
  }
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

uint32_t AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::max(1u, std::thread::hardware_concurrency());
  return static_cast<uint32_t>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads) {
  if (threads == 0) threads = AvailableCpus();
  workers_.reserve(threads - 1);
  for (uint32_t i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  CancellationScope* const scope = CancellationScope::Current();
  // Pieces long enough for a negligible cost, and so short that even the longest loop ends soon.
  constexpr int64_t kPieces = 64, kMostGrains = 64;
  const int64_t shortest = std::max(grain, std::min(count / kPieces, kMostGrains * std::min(grain, count)));
  if (workers_.empty() || count <= grain || busy_.exchange(true, std::memory_order_acquire)) {
    if (scope == nullptr) return fn(0, count);
    return RunPieces(*scope, fn, 0, count, shortest);
  }
  const auto in_pieces = [&](int64_t begin, int64_t end) {
    const CancellationScope::Share share(scope);
    RunPieces(*scope, fn, begin, end, shortest);
  };
  const FunctionRef<void(int64_t, int64_t)> stoppable(in_pieces);
  // A few ranges per thread even out unequal speed without making them small.
  const int64_t ranges = static_cast<int64_t>(thread_count()) * 4;
  job_ = scope == nullptr ? &fn : &stoppable;
  count_ = count;
  grain_ = std::max(grain, (count + ranges - 1) / ranges);
  next_.store(0, std::memory_order_relaxed);
  active_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  RunRanges();
  for (int round = 0; active_.load(std::memory_order_acquire) != 0; ++round) {
    if (round < SpinRounds()) {
      Pause();
    } else {
      const uint32_t left = active_.load(std::memory_order_acquire);
      if (left != 0) active_.wait(left, std::memory_order_acquire);
    }
  }
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::RunRanges() {
  for (;;) {
    const int64_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (begin >= count_) return;
    (*job_)(begin, std::min(begin + grain_, count_));
  }
}

void ThreadPool::Work() {
  uint32_t seen = 0;
  for (;;) {
    for (int round = 0; epoch_.load(std::memory_order_acquire) == seen; ++round) {
      if (round < SpinRounds()) {
        Pause();
      } else {
        epoch_.wait(seen, std::memory_order_acquire);
      }
    }
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    RunRanges();
    if (active_.fetch_sub(1, std::memory_order_acq_rel) == 1) active_.notify_one();
  }
}

}  // namespace deputy::host
