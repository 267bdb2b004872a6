#include "plugins/onednn/waiting.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <filesystem>
#include <iterator>

#include "support/waiting.hpp"

namespace onednn {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(Contention, InterruptedThreadsShowOtherWork) {
  Contention contention;
  EXPECT_FALSE(contention.Add({0, 1000}));         // what was before does not count
  EXPECT_FALSE(contention.Add({20 * kMs, 1020}));  // the window is not over
  EXPECT_TRUE(contention.Add({40 * kMs, 1020}));   // 500 in a second
}

TEST(Contention, FewInterruptionsAreNone) {
  Contention contention;
  contention.Add({0, 0});
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_FALSE(contention.Add({i * 50 * kMs, i * 5})) << i;  // 100 in a second
}

TEST(Contention, ItEndsAfterQuietTimeOnly) {
  Contention contention;
  contention.Add({0, 0});
  ASSERT_TRUE(contention.Add({50 * kMs, 20}));
  EXPECT_TRUE(contention.Add({100 * kMs, 20}));  // quiet for 50 ms
  EXPECT_TRUE(contention.Add({150 * kMs, 24}));  // 80 in a second: neither
  EXPECT_TRUE(contention.Add({200 * kMs, 24}));
  EXPECT_FALSE(contention.Add({250 * kMs, 25}));  // quiet for 100 ms
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
    usage.processor_ns += 50 * kMs;
    usage.involuntary_switches += switches;
    waiting.Observe(now += 10 * kMs);
  };
  waiting.Prepare(processors);
  waiting.Prepare(processors + 1);  // the fewest count
  pass(0);
  pass(1);
  EXPECT_FALSE(waiting.sleeps());
  for (int i = 0; i < 3; ++i) {
    const std::ptrdiff_t before = ThreadsOfProcess();
    pass(100);
    ASSERT_TRUE(deputy::Eventually([&] { return waiting.sleeps(); }));
    EXPECT_TRUE(deputy::Eventually([&] { return ThreadsOfProcess() == before + 2; }));  // a team of two
    pass(0);
    EXPECT_TRUE(waiting.sleeps());
    pass(0);
    ASSERT_TRUE(deputy::Eventually([&] { return !waiting.sleeps(); }));
    EXPECT_TRUE(deputy::Eventually([&] { return ThreadsOfProcess() == before; }));
  }
}

TEST(Waiting, UsageIsReadEveryTenMilliseconds) {
  static int reads;
  reads = 0;
  Waiting& waiting = *new Waiting([] {
    ++reads;
    return Contention::Usage{};
  });
  for (uint64_t now = 100 * kMs; now < 200 * kMs; now += kMs) waiting.Observe(now);
  EXPECT_EQ(reads, 10);
}

}  // namespace
}  // namespace onednn
