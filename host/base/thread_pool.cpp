#include "base/thread_pool.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/cancellation.hpp"
#include "base/cpu_quota.hpp"
#include "base/log.hpp"
#include "base/spin.hpp"
#include "base/thread.hpp"

namespace deputy::host {
namespace {

// Rounds of polling before a thread sleeps in the kernel.
int SpinRounds() {
  static const int rounds = AvailableCpus() > 1 ? 4000 : 0;
  return rounds;
}

// The pool whose ranges this thread runs.
thread_local const ThreadPool* current_pool = nullptr;

// Of a thread of a pool's own.
thread_local const ThreadPool* own_pool = nullptr;
thread_local uint32_t own_worker = 0;

// Runs [begin, end) in pieces, between which a run can be cancelled. Their size depends only on values that are the
// same in every run, so that results are, too.
void RunPieces(CancellationScope& scope, FunctionRef<void(int64_t, int64_t)> fn, int64_t begin, int64_t end,
               int64_t shortest) {
  const int64_t length = end - begin;
  if (length - shortest < shortest) {  // one piece, without the divisions, which take as long as a small loop
    if (!scope.Ends()) fn(begin, end);
    return;
  }
  const int64_t pieces = length / shortest;
  const int64_t size = length / pieces, longer = length % pieces;  // the first ones have one item more
  for (int64_t i = 0; i < pieces && !scope.Ends(); ++i) {
    const int64_t next = begin + size + (i < longer ? 1 : 0);
    fn(begin, next);
    begin = next;
  }
}

}  // namespace

uint32_t AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint32_t cpus = std::thread::hardware_concurrency();
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = static_cast<uint32_t>(CPU_COUNT(&set));
  // Threads beyond a quota use up the time of the others, and all of them wait for the next period.
  // Read once: a worker process asks again behind its sandbox, which hides the groups.
  static const std::optional<double> quota = CpuQuota();
  if (quota) cpus = static_cast<uint32_t>(std::min<double>(cpus, std::ceil(*quota)));
  return std::max(1u, cpus);
}

ThreadPool::ThreadPool(uint32_t threads) {
  // Asked here as well, since it reads files, for which a thread of the pool may lack memory.
  const uint32_t cpus = AvailableCpus();
  if (threads == 0) threads = cpus;
  workers_.reserve(threads - 1);
  for (uint32_t i = 1; i < threads; ++i) {
    Result<std::thread> worker = StartThread([this, i] { Work(i); });
    if (!worker.ok()) {
      Log(LogLevel::kWarning, "{} of {} threads are used: {}", i, threads, worker.status().message());
      break;
    }
    workers_.push_back(std::move(worker).value());
  }
}

uint32_t ThreadPool::worker() const { return own_pool == this ? own_worker : 0; }

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
  if (count <= grain) {
    if (scope == nullptr || !scope->Ends()) fn(0, count);
    return;
  }
  // Pieces long enough for a negligible cost, and so short that even the longest loop ends soon.
  // An item that is worth a range of its own is a piece of its own: it may take long.
  constexpr int64_t kPieces = 64, kMostGrains = 64;
  const int64_t shortest =
      grain == 1 ? 1 : std::max(grain, std::min(count / kPieces, kMostGrains * std::min(grain, count)));
  // Threads that could run the ranges of a nested call already run those of the outer one.
  if (workers_.empty() || current_pool == this) {
    if (scope == nullptr) return fn(0, count);
    return RunPieces(*scope, fn, 0, count, shortest);
  }
  const auto in_pieces = [&](int64_t begin, int64_t end) {
    const CancellationScope::Share share(scope);
    RunPieces(*scope, fn, begin, end, shortest);
  };
  const FunctionRef<void(int64_t, int64_t)> stoppable(in_pieces);
  const auto take = [](Job& job) {
    uint32_t state = 0;
    return job.state.load(std::memory_order_relaxed) == 0 &&
           job.state.compare_exchange_strong(state, kTaken, std::memory_order_acquire);
  };
  Job own;
  const auto slot = std::find_if(jobs_.begin(), jobs_.end(), take);
  Job& job = slot == jobs_.end() ? own : *slot;
  // A few ranges per thread even out unequal speed without making them small.
  const int64_t most = static_cast<int64_t>(thread_count()) * 4;
  job.fn = scope == nullptr ? &fn : &stoppable;
  job.count = count;
  job.range = std::max(grain, (count + most - 1) / most);
  job.ranges = (count + job.range - 1) / job.range;
  job.left.store(job.ranges, std::memory_order_relaxed);
  const ThreadPool* const outer = std::exchange(current_pool, this);
  if (slot == jobs_.end()) {
    RunRanges(job);
  } else {
    RunShared(job);
  }
  current_pool = outer;
}

void ThreadPool::RunRanges(Job& job) {
  for (int64_t left; (left = job.left.fetch_sub(1, std::memory_order_relaxed)) > 0;) {
    const int64_t begin = (job.ranges - left) * job.range;
    (*job.fn)(begin, std::min(begin + job.range, job.count));
  }
}

// Returns when the last range has ended, and frees the slot.
void ThreadPool::RunShared(Job& job) {
  job.state.store(kTaken | kOpen, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  RunRanges(job);
  uint32_t state = job.state.fetch_sub(kOpen, std::memory_order_acq_rel) - kOpen;
  for (int round = 0; state != kTaken; ++round) {
    if (round < SpinRounds()) {
      Pause();
    } else {
      job.state.wait(state, std::memory_order_acquire);
    }
    state = job.state.load(std::memory_order_acquire);
  }
  job.state.store(0, std::memory_order_release);
}

// Until no job has a range left: joins the one with the fewest helpers, so that all of them get some.
void ThreadPool::Help() {
  for (;;) {
    Job* chosen = nullptr;
    uint32_t fewest = UINT32_MAX;
    for (Job& job : jobs_) {
      const uint32_t state = job.state.load(std::memory_order_acquire);
      if ((state & kOpen) == 0 || state >= fewest || job.left.load(std::memory_order_relaxed) <= 0) continue;
      chosen = &job;
      fewest = state;
    }
    if (chosen == nullptr) return;
    // A slot that was freed and taken again since is as good.
    if (!chosen->state.compare_exchange_strong(fewest, fewest + 1, std::memory_order_acquire)) continue;
    RunRanges(*chosen);
    // The caller sleeps only after it has closed the job.
    if (chosen->state.fetch_sub(1, std::memory_order_acq_rel) == kTaken + 1) chosen->state.notify_one();
  }
}

void ThreadPool::Work(uint32_t worker) {
  current_pool = own_pool = this;
  own_worker = worker;
  for (uint32_t seen = 0; !stop_.load();) {
    Help();
    for (int round = 0; epoch_.load(std::memory_order_acquire) == seen; ++round) {
      if (round < SpinRounds()) {
        Pause();
      } else {
        epoch_.wait(seen, std::memory_order_acquire);
      }
    }
    seen = epoch_.load(std::memory_order_acquire);
  }
}

}  // namespace deputy::host
