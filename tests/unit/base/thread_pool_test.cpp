#include "base/thread_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/process_state.hpp"
#include "support/waiting.hpp"

namespace deputy::host {
namespace {

TEST(ThreadPool, EveryItemIsDoneOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> done(1000);
  pool.ParallelFor(1000, 7, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) done[static_cast<size_t>(i)].fetch_add(1);
  });
  for (const std::atomic<int>& count : done) EXPECT_EQ(count.load(), 1);
}

TEST(ThreadPool, RangesAreAtLeastAsLongAsTheGrain) {
  ThreadPool pool(4);
  std::atomic<int> short_ranges{0};
  pool.ParallelFor(100, 30, [&](int64_t begin, int64_t end) {
    if (end - begin < 30 && end != 100) short_ranges.fetch_add(1);
  });
  EXPECT_EQ(short_ranges.load(), 0);
}

TEST(ThreadPool, NothingIsCalledForNoItems) {
  ThreadPool pool(2);
  bool called = false;
  pool.ParallelFor(0, 1, [&](int64_t, int64_t) { called = true; });
  EXPECT_FALSE(called);
}

TEST(ThreadPool, NestedCallsRunOnTheCaller) {
  ThreadPool pool(3);
  std::atomic<int> sum{0};
  pool.ParallelFor(8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pool.ParallelFor(10, 1, [&](int64_t b, int64_t e) { sum.fetch_add(static_cast<int>(e - b)); });
  });
  EXPECT_EQ(sum.load(), 80);
}

// More callers than the pool has slots for.
TEST(ThreadPool, CallersOnSeveralThreadsAllGetTheirWorkDone) {
  ThreadPool pool(2);
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 12; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        pool.ParallelFor(64, 4, [&](int64_t b, int64_t e) { sum.fetch_add(static_cast<int>(e - b)); });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 12 * 200 * 64);
}

// Each caller stays in its first range until the pool's one thread has run ranges of both jobs.
TEST(ThreadPool, JobsOfTwoCallersAreBothHelped) {
  ThreadPool pool(2);
  std::atomic<uint32_t> helped{0};
  const auto failed = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto call = [&](uint32_t bit) {
    pool.ParallelFor(64, 1, [&, caller = std::this_thread::get_id()](int64_t, int64_t) {
      const bool is_caller = std::this_thread::get_id() == caller;
      if (!is_caller) helped |= bit;
      while (is_caller && helped != 3 && std::chrono::steady_clock::now() < failed) std::this_thread::yield();
    });
  };
  std::thread other(call, 1);
  call(2);
  other.join();
  EXPECT_EQ(helped, 3u);
}

TEST(ThreadPool, TheRangesAreTheSameForEveryCallerAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int c = 0; c < 12; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round)
        pool.ParallelFor(1000, 7, [&](int64_t begin, int64_t end) {
          EXPECT_EQ(begin % 84, 0);
          EXPECT_EQ(end, std::min<int64_t>(begin + 84, 1000));
        });
    });
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, AnIdlePoolIsDestroyed) {
  std::atomic<int> sum{0};
  for (int round = 0; round < 100; ++round) {
    ThreadPool unused(4), pool(2);
    pool.ParallelFor(100, 1, [&](int64_t begin, int64_t end) { sum += static_cast<int>(end - begin); });
    const bool sleeps = round % 10 == 0;
    EXPECT_TRUE(!sleeps || Eventually([] { return SleepingThreads() >= 4; }));  // all of the pools' own
  }
  EXPECT_EQ(sum, 10000);
}

TEST(ThreadPool, ZeroThreadsMeansOnePerCpu) { EXPECT_GE(ThreadPool(0).thread_count(), 1u); }

}  // namespace
}  // namespace deputy::host
