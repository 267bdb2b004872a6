// Kills worker processes of this process, while it lives.
#pragma once

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "support/process_state.hpp"

namespace deputy {

// One of the workers each time, in turn.
class WorkerKiller {
 public:
  explicit WorkerKiller(std::chrono::microseconds every)
      : thread_([this, every] {
          for (size_t turn = 0; !ended_; ++turn) {
            std::this_thread::sleep_for(every);
            const std::lock_guard lock(mutex_);
            if (paused_) continue;
            const std::vector<pid_t> workers = ChildProcesses();
            if (!workers.empty() && kill(workers[turn % workers.size()], SIGKILL) == 0) ++killed_;
          }
        }) {}
  ~WorkerKiller() {
    ended_ = true;
    thread_.join();
  }
  WorkerKiller(const WorkerKiller&) = delete;
  WorkerKiller& operator=(const WorkerKiller&) = delete;

  // Waits for a turn that has begun: while paused, nothing is killed and no list of processes is open.
  void Pause(bool paused) {
    const std::lock_guard lock(mutex_);
    paused_ = paused;
  }
  size_t killed() const { return killed_; }

 private:
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  bool paused_ = false;
  std::atomic<size_t> killed_{0};
  std::thread thread_;
};

}  // namespace deputy
