// Kills worker processes of this process, while it lives.
#pragma once

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "support/process_state.hpp"

namespace deputy {

// One of the workers each time, in turn.
class WorkerKiller {
 public:
  explicit WorkerKiller(std::chrono::milliseconds every)
      : thread_([this, every] {
          for (size_t turn = 0; !ended_; ++turn) {
            std::this_thread::sleep_for(every);
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

  void Pause(bool paused) { paused_ = paused; }
  size_t killed() const { return killed_; }

 private:
  std::atomic<bool> ended_{false}, paused_{false};
  std::atomic<size_t> killed_{0};
  std::thread thread_;
};

}  // namespace deputy
