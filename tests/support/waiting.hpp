// Waiting in tests: for states of the system that no event announces.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace deputy {

// Looks until the condition holds. False: it did not within the limit.
template <class F>
bool Eventually(F&& condition, std::chrono::seconds limit = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Cancels again and again, in a thread of its own, while it lives: before a run begins there is nothing to cancel.
class Canceller {
 public:
  explicit Canceller(std::function<void()> cancel)
      : thread_([this, cancel = std::move(cancel)] {
          EXPECT_TRUE(Eventually([&] {
            cancel();
            return ended_.load();
          })) << "the run was not cancelled";
        }) {}
  ~Canceller() {
    ended_ = true;
    thread_.join();
  }
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

 private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace deputy
