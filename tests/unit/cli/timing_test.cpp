#include "cli/timing.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

TEST(LatencyTest, PercentilesAreOfRunsThatHappened) {
  std::vector<uint64_t> runs;
  for (uint64_t i = 200; i > 0; --i) runs.push_back(i);
  const Latency latency = SummarizeRuns(runs);
  EXPECT_EQ(latency.min, 1u);
  EXPECT_EQ(latency.p50, 100u);
  EXPECT_EQ(latency.p90, 180u);
  EXPECT_EQ(latency.p99, 198u);
  EXPECT_EQ(latency.max, 200u);
  EXPECT_DOUBLE_EQ(latency.mean, 100.5);
}

TEST(LatencyTest, OneRunIsAllOfThem) {
  const Latency latency = SummarizeRuns({7});
  EXPECT_EQ(latency.p50, 7u);
  EXPECT_EQ(latency.p99, 7u);
}

TEST(LatencyTest, AFewRunsHaveTheirWorstAsTheHighPercentiles) {
  const Latency latency = SummarizeRuns({30, 10, 20});
  EXPECT_EQ(latency.p50, 20u);
  EXPECT_EQ(latency.p90, 30u);
}

}  // namespace
}  // namespace deputy::cli
