// What a delegate's estimate does to a placement.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/partition/place_on.hpp"

namespace deputy::host {
namespace {

TEST(Estimates, AreKeptWithTheirPartition) {
  const TestGraph test = Chain("SS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.estimate = [](const PartitionSpec&) {
    Estimate estimate;
    estimate.latency_ns = 7;
    return estimate;
  };
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  ASSERT_TRUE(placed->partitions.front().estimate);
  EXPECT_EQ(placed->partitions.front().estimate->latency_ns, 7u);
  EXPECT_FALSE(placed->partitions.front().estimate->memory_bytes);
}

TEST(Estimates, AreAskedForExactBorders) {
  const TestGraph test = Chain("SSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  std::vector<ValueId> inputs, outputs;
  npu.estimate = [&](const PartitionSpec& partition) {
    inputs = partition.inputs;
    outputs = partition.outputs;
    return Estimate();
  };
  ASSERT_TRUE(PlaceOn(test.graph, {&npu, &cpu}).ok());
  EXPECT_EQ(inputs, test.graph.inputs);
  EXPECT_EQ(outputs, test.graph.outputs);
}

TEST(Estimates, InfeasiblePartitionGoesToTheNextDelegate) {
  const TestGraph test = Chain("SSS");
  TestDelegate npu("npu", {"S"}), dsp("dsp", {"S"}), cpu = TestCpu();
  npu.estimate = [](const PartitionSpec&) {
    Estimate estimate;
    estimate.feasible = false;
    estimate.reason = "too large";
    return estimate;
  };
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &dsp, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 1), (Names{{"n0", "n1", "n2"}}));
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kInfeasible);
  EXPECT_EQ(placed->verdicts[0][1].detail, "too large");
  EXPECT_EQ(placed->verdicts[2][1].detail, "dsp") << "the owner now, not the one before";
}

TEST(Estimates, NodesGivenBackSplitThePartitionAndTheRestIsAskedAbout) {
  const TestGraph test = Chain("SSSSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.estimate = [](const PartitionSpec& partition) {
    Estimate estimate;
    if (partition.nodes.size() == 5) estimate.give_back = {2};
    return estimate;
  };
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n1"}, {"n3", "n4"}}));
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 1), (Names{{"n2"}}));
  EXPECT_EQ(npu.estimated, (std::vector<std::vector<NodeId>>{{0, 1, 2, 3, 4}, {0, 1}, {3, 4}}));
}

TEST(Estimates, NodeGivenBackTakesItsGroupAlong) {
  const TestGraph test = Chain("SSSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{1, 2}};
  npu.estimate = [](const PartitionSpec& partition) {
    Estimate estimate;
    if (partition.nodes.size() == 4) estimate.give_back = {2};
    return estimate;
  };
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0"}, {"n3"}}));
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kGroupIncomplete);
  EXPECT_EQ(placed->verdicts[0][2].reason, Reason::kInfeasible);
}

TEST(Estimates, DelegateThatGivesBackForEverLosesThePartition) {
  const TestGraph test =
      Chain("SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.estimate = [](const PartitionSpec& partition) {
    Estimate estimate;
    estimate.give_back = {partition.nodes.back()};
    return estimate;
  };
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 0).empty());
  EXPECT_LT(npu.estimated.size(), 20u);
  EXPECT_EQ(placed->verdicts[0][0].detail, "it gave back nodes 16 times");
}

TEST(Estimates, OneThatFailsLeavesThePartitionWhereItIs) {
  const TestGraph test = Chain("SS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.estimate = [](const PartitionSpec&) { return Status(StatusCode::kInternal, "no idea"); };
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n1"}}));
}

TEST(Estimates, ClaimThatIsInfeasibleIsReleased) {
  const TestGraph test = Chain("SS");
  TestDelegate npu("npu", {}), cpu = TestCpu();
  npu.claims = {{0, 1}};
  npu.estimate = [&](const PartitionSpec& partition) {
    EXPECT_EQ(partition.claim, &npu);
    Estimate estimate;
    estimate.feasible = false;
    return estimate;
  };
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(npu.open_claims, 0);
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kInfeasible);
}

TEST(Estimates, FreedNodesAreProposedByADelegateBehind) {
  const TestGraph test = Chain("SS");
  TestDelegate npu("npu", {"S"}), builder("builder", {}), cpu = TestCpu();
  npu.estimate = [](const PartitionSpec&) {
    Estimate estimate;
    estimate.feasible = false;
    return estimate;
  };
  builder.claims = {{0, 1}};
  Result<Placement> placed = PlaceOn(test.graph, {&npu, &builder, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 1), (Names{{"n0", "n1"}}));
  // Proposed twice: the first time its nodes were not on offer.
  EXPECT_EQ(builder.open_claims, 1);
}

}  // namespace
}  // namespace deputy::host
