#include "base/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

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

TEST(ThreadPool, CallersOnSeveralThreadsAllGetTheirWorkDone) {
  ThreadPool pool(2);
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        pool.ParallelFor(64, 4, [&](int64_t b, int64_t e) { sum.fetch_add(static_cast<int>(e - b)); });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 4 * 200 * 64);
}

TEST(ThreadPool, ZeroThreadsMeansOnePerCpu) { EXPECT_GE(ThreadPool(0).thread_count(), 1u); }

}  // namespace
}  // namespace deputy::host
