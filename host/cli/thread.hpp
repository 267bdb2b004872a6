// Work of a command on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "deputy/status.hpp"

namespace deputy::cli {

// Runs work(i) for each i below `count`, each on a thread of its own, when all have been started. kUnavailable: one
// could not be, and none has run its work.
template <class Work>
Status RunOnThreads(size_t count, Work work) {
  enum { kWaits, kGoes, kGivesUp };
  std::atomic<int> state{kWaits};
  std::vector<std::thread> threads;
  Status status;
  for (size_t i = 0; i < count && status.ok(); ++i) {
    try {
      threads.emplace_back([&state, &work, i] {
        state.wait(kWaits);
        if (state == kGoes) work(i);
      });
    } catch (const std::exception& error) {
      status = Status(StatusCode::kUnavailable, "no further thread can be started: " + std::string(error.what()));
    }
  }
  state = status.ok() ? kGoes : kGivesUp;
  state.notify_all();
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace deputy::cli
