// The gate under real threads: what may not overlap does not, and what may is not held back.
#include "plugin/proxy/concurrency_limiter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace deputy::host {
namespace {

// A run of an executable of an instance, told apart by number.
struct Runner {
  int instance, executable;
};

// Are all runners inside at the same time? Each waits inside for the others, and gives up after longer than any machine
// takes: only a gate that holds one back makes that happen.
bool MeetInside(const std::vector<Runner>& runners, const RunRules& rules) {
  ConcurrencyLimiter gate;
  std::array<int, 8> identity{};
  std::mutex mutex;
  std::condition_variable changed;
  size_t inside = 0;
  bool given_up = false;
  std::vector<std::thread> threads;
  for (const Runner& runner : runners)
    threads.emplace_back([&, runner] {
      const ConcurrencyLimiter::Pass pass(gate, &identity[size_t(runner.instance)],
                                          &identity[size_t(runner.executable)], rules);
      std::unique_lock lock(mutex);
      ++inside;
      changed.notify_all();
      const auto done = [&] { return inside == runners.size() || given_up; };
      if (!changed.wait_for(lock, std::chrono::seconds(60), done)) given_up = true;
    });
  for (std::thread& thread : threads) thread.join();
  return !given_up;
}

// Overlaps seen while every runner passes many times.
int Overlaps(const std::vector<Runner>& runners, const RunRules& rules) {
  ConcurrencyLimiter gate;
  std::array<int, 8> identity{};
  std::atomic<int> inside{0}, overlaps{0};
  std::vector<std::thread> threads;
  for (const Runner& runner : runners)
    threads.emplace_back([&, runner] {
      for (int i = 0; i < 200; ++i) {
        const ConcurrencyLimiter::Pass pass(gate, &identity[size_t(runner.instance)],
                                            &identity[size_t(runner.executable)], rules);
        if (inside.fetch_add(1) != 0) ++overlaps;
        std::this_thread::yield();
        inside.fetch_sub(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  return overlaps.load();
}

const std::vector<Runner> kTwoContexts{{0, 1}, {0, 1}, {0, 1}};
const std::vector<Runner> kTwoExecutables{{0, 1}, {0, 2}, {0, 3}};
const std::vector<Runner> kTwoInstances{{0, 1}, {4, 2}, {5, 3}};

TEST(ConcurrencyLimiter, ContextsOverlapOnlyWhenTheyMay) {
  EXPECT_TRUE(MeetInside(kTwoContexts, {true, false, false}));
  EXPECT_EQ(Overlaps(kTwoContexts, {false, true, true}), 0);
}

TEST(ConcurrencyLimiter, ExecutablesOverlapOnlyWhenTheyMay) {
  EXPECT_TRUE(MeetInside(kTwoExecutables, {false, true, false}));
  EXPECT_EQ(Overlaps(kTwoExecutables, {true, false, true}), 0);
}

TEST(ConcurrencyLimiter, InstancesOverlapOnlyWhenTheyMay) {
  EXPECT_TRUE(MeetInside(kTwoInstances, {false, false, true}));
  EXPECT_EQ(Overlaps(kTwoInstances, {true, true, false}), 0);
}

TEST(ConcurrencyLimiter, StricterOfTwoInstancesHolds) {
  ConcurrencyLimiter gate;
  int one = 0, other = 0;
  std::atomic<bool> at_the_gate{false}, entered{false};
  std::thread second;
  {
    const ConcurrencyLimiter::Pass pass(gate, &one, &one, {true, true, true});
    second = std::thread([&] {
      at_the_gate = true;
      const ConcurrencyLimiter::Pass waiting(gate, &other, &other, {true, true, false});
      entered = true;
    });
    while (!at_the_gate) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_FALSE(entered);
  }
  second.join();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace deputy::host
