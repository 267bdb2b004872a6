// What a run that has to end leaves out of its parallel loops.
#include "base/cancellation.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/thread_pool.hpp"

namespace deputy::host {
namespace {

// Items done by a loop that becomes due after `before` of them.
int64_t DoneItems(ThreadPool& pool, int64_t count, int64_t before,
                  const std::function<void(CancellationScope&)>& check = {}) {
  std::atomic<uint64_t> cancelled{0};
  const CancellationToken stop{0, &cancelled};
  CancellationScope scope(&stop);
  std::atomic<int64_t> done{0};
  pool.ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    if ((done += end - begin) >= before) cancelled = 1;
  });
  if (check) check(scope);
  return done;
}

class CancellationTest : public testing::TestWithParam<uint32_t> {};

TEST_P(CancellationTest, ALoopThatIsNeverDueIsDoneWhole) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(DoneItems(pool, 100000, 1000000, [](CancellationScope& scope) { EXPECT_FALSE(scope.stopped()); }), 100000);
}

TEST_P(CancellationTest, ALoopThatBecomesDueLeavesTheRestOut) {
  ThreadPool pool(GetParam());
  EXPECT_LT(DoneItems(pool, 1 << 30, 1, [](CancellationScope& scope) { EXPECT_TRUE(scope.stopped()); }), 1 << 30);
}

TEST_P(CancellationTest, NothingOfALaterLoopIsBegun) {
  ThreadPool pool(GetParam());
  const CancellationToken stop{1, nullptr};  // long past
  const CancellationScope scope(&stop);
  bool called = false;
  pool.ParallelFor(1, 1, [&](int64_t, int64_t) { called = true; });
  pool.ParallelFor(1000, 1, [&](int64_t, int64_t) { called = true; });
  EXPECT_FALSE(called);
  EXPECT_TRUE(scope.stopped());
}

TEST_P(CancellationTest, LoopsInsideALoopAreLeftOutOnEveryThread) {
  ThreadPool pool(GetParam());
  std::atomic<uint64_t> cancelled{0};
  const CancellationToken stop{0, &cancelled};
  const CancellationScope scope(&stop);
  std::atomic<int> inner{0};
  pool.ParallelFor(8, 1, [&](int64_t, int64_t) {
    cancelled = 1;
    pool.ParallelFor(100, 1, [&](int64_t, int64_t) { ++inner; });
  });
  EXPECT_EQ(inner, 0);
}

TEST_P(CancellationTest, PiecesAreAtLeastAsLongAsTheGrain) {
  ThreadPool pool(GetParam());
  const CancellationToken stop{NowNs() + 3600'000'000'000u, nullptr};
  const CancellationScope scope(&stop);
  std::atomic<int> short_pieces{0};
  std::atomic<int64_t> done{0};
  pool.ParallelFor(1000, 30, [&](int64_t begin, int64_t end) {
    if (end - begin < 30 && end != 1000) ++short_pieces;
    done += end - begin;
  });
  EXPECT_EQ(short_pieces, 0);
  EXPECT_EQ(done, 1000);
}

// A plugin's loops go over the same pool: they are always done whole.
TEST_P(CancellationTest, OtherThreadsAndLaterLoopsAreNotTouched) {
  ThreadPool pool(GetParam());
  {
    const CancellationToken stop{1, nullptr};
    const CancellationScope scope(&stop);
    std::thread([&] {
      std::atomic<int64_t> done{0};
      pool.ParallelFor(1000, 1, [&](int64_t begin, int64_t end) { done += end - begin; });
      EXPECT_EQ(done, 1000);
    }).join();
  }
  std::atomic<int64_t> done{0};
  pool.ParallelFor(1000, 1, [&](int64_t begin, int64_t end) { done += end - begin; });
  EXPECT_EQ(done, 1000);
}

INSTANTIATE_TEST_SUITE_P(Threads, CancellationTest, testing::Values(1, 3));

TEST(CancellationToken, ACancelCountsMoreThanADeadline) {
  const std::atomic<uint64_t> cancelled{1};
  EXPECT_EQ((CancellationToken{1, &cancelled}).Check().code(), StatusCode::kCancelled);
  EXPECT_EQ((CancellationToken{1, nullptr}).Check().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(CancellationToken().Check().ok());
}

TEST(CancellationToken, TheMessageSaysHowLateADelegateWas) {
  const Status late = (CancellationToken{NowNs() - 1'210'000'000, nullptr}).ReasonAfter("npu");
  EXPECT_EQ(late.message(), "the run did not end in time; delegate 'npu' did not stop: deadline exceeded by 1.2 s");
}

}  // namespace
}  // namespace deputy::host
