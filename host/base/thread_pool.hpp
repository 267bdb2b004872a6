// The host's threads. One job at a time is split into ranges; the calling thread takes part. A call that finds the pool
// busy (another session, or a nested call) runs its whole job itself, so no call ever waits for a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/function_ref.hpp"

namespace deputy::host {

class ThreadPool {
 public:
  // `threads` counts the calling thread: 1 starts none. 0 means one per CPU that this process may use.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t thread_count() const { return static_cast<uint32_t>(workers_.size()) + 1; }

  // Calls fn(begin, end) for ranges that cover [0, count), each of at least `grain` items (but the last). Returns when
  // all are done; inside a CancellationScope (cancellation.hpp) some may be skipped. fn must not throw. [any-thread]
  void ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn);

 private:
  void Work();
  void RunRanges();

  std::vector<std::thread> workers_;
  std::atomic<bool> busy_{false};
  std::atomic<uint32_t> epoch_{0};   // changes when a job is posted; workers wait on it
  std::atomic<uint32_t> active_{0};  // workers that still use the job
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> next_{0};
  int64_t count_ = 0, grain_ = 1;
  const FunctionRef<void(int64_t, int64_t)>* job_ = nullptr;
};

}  // namespace deputy::host
