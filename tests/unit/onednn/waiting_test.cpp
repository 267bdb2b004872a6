#include "plugins/onednn/waiting.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <chrono>
#include <filesystem>
#include <iterator>

#include "support/waiting.hpp"

namespace onednn {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(Contention, InterruptedRunsShowOtherWork) {
  Contention contention;
  EXPECT_FALSE(contention.Add({20 * kMs, 20}));  // the window is not over
  EXPECT_FALSE(contention.Add({20 * kMs, 0}));   // 500 in a second, once
  EXPECT_TRUE(contention.Add({40 * kMs, 20}));
}

TEST(Contention, InterruptionsOfAMomentAreNone) {
  Contention contention;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(contention.Add({30 * kMs, i % 2 == 0 ? 50u : 4u})) << i;
}

TEST(Contention, FewInterruptionsAreNone) {
  Contention contention;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(contention.Add({50 * kMs, 8})) << i;  // 160 in a second
}

TEST(Contention, ItEndsAfterQuietTimeOnly) {
  Contention contention;
  ASSERT_TRUE(contention.Add({100 * kMs, 40}));
  EXPECT_TRUE(contention.Add({50 * kMs, 0}));  // quiet for 50 ms
  EXPECT_TRUE(contention.Add({50 * kMs, 6}));  // 120 in a second: neither
  EXPECT_TRUE(contention.Add({50 * kMs, 0}));
  EXPECT_FALSE(contention.Add({50 * kMs, 4}));  // quiet for 100 ms
}

Contention::Usage usage{};

std::ptrdiff_t ThreadsOfProcess() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

// More threads of OpenMP than processors make its waiting threads sleep.
TEST(Waiting, BesideOtherWorkThreadsAreHeldUntilItEnds) {
  const int processors = omp_get_num_procs();
  Waiting& waiting = *new Waiting([] { return usage; });
  auto pass = [&, now = uint64_t{0}](uint64_t switches) mutable {
    const Waiting::ObservedRun run(waiting, now += 10 * kMs);
    usage.processor_ns += 60 * kMs;  // enough to be busy, too little to be quiet
    usage.involuntary_switches += switches;
  };
  waiting.Prepare(processors);
  waiting.Prepare(processors + 1);  // the fewest count
  pass(0);
  pass(1);
  EXPECT_FALSE(waiting.sleeps());
  for (int i = 0; i < 3; ++i) {
    const std::ptrdiff_t before = ThreadsOfProcess();
    // A pass does not count while the thread that holds the others looks.
    ASSERT_TRUE(deputy::Eventually([&] {
      pass(100);
      return waiting.sleeps();
    }));
    EXPECT_TRUE(deputy::Eventually([&] { return ThreadsOfProcess() == before + 2; }));  // a team of two
    pass(0);
    EXPECT_TRUE(waiting.sleeps());
    ASSERT_TRUE(deputy::Eventually([&] {
      pass(0);
      return !waiting.sleeps();
    }));
    EXPECT_TRUE(deputy::Eventually([&] { return ThreadsOfProcess() == before; }));
  }
}

// The host's pool and threads of OpenMP that still poll interrupt each other between runs.
TEST(Waiting, InterruptionsBetweenRunsAreNone) {
  Waiting& waiting = *new Waiting([] { return usage; });
  waiting.Prepare(omp_get_num_procs());
  for (uint64_t now = 0; now < 1000 * kMs; now += 10 * kMs) {
    usage.involuntary_switches += 100;
    const Waiting::ObservedRun run(waiting, now);
    usage.processor_ns += 50 * kMs;
  }
  EXPECT_FALSE(deputy::Eventually([&] { return waiting.sleeps(); }, std::chrono::seconds(1)));
}

TEST(Waiting, ShortRunsAreObservedEveryTenthOfAMillisecond) {
  static int reads;
  reads = 0;
  Waiting& waiting = *new Waiting([] {
    ++reads;
    return Contention::Usage{};
  });
  for (uint64_t now = 100 * kMs; now < 200 * kMs; now += kMs / 100) const Waiting::ObservedRun run(waiting, now);
  EXPECT_EQ(reads, 2 * 1000);
}

}  // namespace
}  // namespace onednn
