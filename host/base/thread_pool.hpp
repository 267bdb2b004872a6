// The host's threads. A parallel loop is a job that is split into ranges; the calling thread runs them together with
// the pool's threads, which help the jobs of all callers. No call waits for a lock or for another caller.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/function_ref.hpp"

namespace deputy::host {

class ThreadPool {
 public:
  // `threads` counts the calling thread: 1 starts none. 0 means one per CPU that this process may use. Threads that the
  // system refuses are left out, with a warning.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t thread_count() const { return static_cast<uint32_t>(workers_.size()) + 1; }
  // A number below thread_count() for the calling thread while it runs ranges of this pool: no two threads that run
  // ranges of one job have the same. 0 for a thread that is not the pool's.
  uint32_t worker() const;

  // Calls fn(begin, end) for ranges that cover [0, count), each of at least `grain` items (but the last). Returns when
  // all are done; inside a CancellationScope (cancellation.hpp) some may be skipped. The ranges depend on the arguments
  // and the number of threads only. A call from inside fn is one range. fn must not throw. [any-thread]
  void ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn);

 private:
  // A slot for the job of one call.
  struct alignas(64) Job {
    std::atomic<uint32_t> state{0};  // 0: free; else kTaken, kOpen while threads may join, plus the threads that help
    std::atomic<int64_t> left{0};    // ranges that have not begun; may become negative
    int64_t ranges = 0, range = 0, count = 0;
    const FunctionRef<void(int64_t, int64_t)>* fn = nullptr;
  };
  static constexpr uint32_t kTaken = 1u << 31, kOpen = 1u << 30;

  static void RunRanges(Job& job);
  void RunShared(Job& job);
  void Help();
  void Work(uint32_t worker);

  std::array<Job, 8> jobs_;         // calls that find all taken run their jobs alone
  std::atomic<uint32_t> epoch_{0};  // changes when a job is posted; the pool's threads wait on it
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace deputy::host
