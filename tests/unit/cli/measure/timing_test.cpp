#include "cli/measure/timing.hpp"

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

TEST(LatencyTest, APercentileMayHaveDecimals) {
  std::vector<uint64_t> runs;
  for (uint64_t i = 1000; i > 0; --i) runs.push_back(i);
  EXPECT_EQ(PercentileOf(runs, 99.9), 999u);
  EXPECT_EQ(PercentileOf(runs, 95), 950u);
  EXPECT_EQ(PercentileOf(runs, 0.001), 1u);
  EXPECT_EQ(PercentileOf(runs, 100), 1000u);
}

TEST(FirstRunTest, OnlyWhatItDidIsNamed) {
  EXPECT_EQ(ColdText({5, 0, 0, 0, 0}), "");
  EXPECT_EQ(ColdText({5, 1, 2, 3, 1204}),
            "cold: 1 partition compiled, 2 partitions verified, 3 placements measured, "
            "1204 page faults");
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

TEST(Timing, ADeviceThatCountsFromZeroAgainWasBusyForAllOfIt) {
  DelegateReport before, after;
  before.device.busy_ns = 100;
  after.device.busy_ns = 130;
  EXPECT_EQ(BusyBetween(before, after), 30u);
  after.device.busy_ns = 70;  // its worker process was started again
  EXPECT_EQ(BusyBetween(before, after), 70u);
}

}  // namespace
}  // namespace deputy::cli
