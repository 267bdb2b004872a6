// The gate under real threads: what may not overlap does not, and what may is not held back.
#include "plugin/proxy/concurrency_limiter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "support/waiting.hpp"

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

// A device whose runs do not overlap, in use by the test.
class BusyDevice : public ::testing::Test {
 protected:
  ~BusyDevice() override { Release(); }
  // Starts a run, and returns when it waits, or has given up already.
  void Enter(int number, const PassRequest& request) {
    const size_t before = gate_.waiting();
    threads_.emplace_back([this, number, request] {
      const ConcurrencyLimiter::Pass pass(gate_, &device_, &device_, kRules, request);
      const std::lock_guard lock(mutex_);
      (pass.has_turn() ? entered_ : gave_up_).push_back(number);
    });
    EXPECT_TRUE(Eventually([&] { return gate_.waiting() > before || HasGivenUp(number); }));
  }
  void Release() {
    inside_.reset();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  bool HasGivenUp(int number) {
    const std::lock_guard lock(mutex_);
    return std::count(gave_up_.begin(), gave_up_.end(), number) != 0;
  }

  static constexpr RunRules kRules{false, false, false, true};
  ConcurrencyLimiter gate_;
  int device_ = 0;
  std::optional<ConcurrencyLimiter::Pass> inside_{std::in_place, gate_, &device_, &device_, kRules};
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<int> entered_, gave_up_;
};

TEST_F(BusyDevice, TheLargestPriorityGoesFirstAndThenTheFirstToCome) {
  Enter(0, {0});
  Enter(1, {-3});
  Enter(2, {7});
  Enter(3, {0});
  Enter(4, {7});
  Release();
  EXPECT_EQ(entered_, (std::vector<int>{2, 4, 0, 3, 1}));
}

TEST_F(BusyDevice, ARunThatManyHaveOvertakenGoesBeforeThem) {
  constexpr int kMost = static_cast<int>(Turn::kMostOvertakes);
  Enter(0, {0});
  for (int number = 1; number <= kMost + 2; ++number) Enter(number, {1});
  Release();
  ASSERT_EQ(entered_.size(), static_cast<size_t>(kMost) + 3);
  EXPECT_EQ(entered_[static_cast<size_t>(kMost)], 0);
}

TEST_F(BusyDevice, AWaitEndsWithTheDeadlineOfItsRunAndDelaysNoOther) {
  CancellationToken token;
  token.deadline_ns = NowNs() + 1'000'000;
  Enter(1, {0});
  Enter(0, {5, &token});
  EXPECT_TRUE(Eventually([&] { return HasGivenUp(0); }));
  EXPECT_TRUE(Eventually([&] { return gate_.waiting() == 1; }));
  Release();
  EXPECT_EQ(entered_, (std::vector<int>{1}));
}

TEST_F(BusyDevice, AWaitEndsWhenItsRunIsCancelled) {
  std::atomic<uint64_t> cancelled_ns{0};
  CancellationToken token;
  token.deadline_ns = UINT64_MAX;  // in centuries
  token.cancelled_ns = &cancelled_ns;
  Enter(0, {0, &token});
  gate_.Wake();
  EXPECT_EQ(gate_.waiting(), 1u);
  cancelled_ns = 1;
  gate_.Wake();
  EXPECT_TRUE(Eventually([&] { return HasGivenUp(0); }));
}

}  // namespace
}  // namespace deputy::host
