// Nodes that stay together: whole or not at all, whatever takes one of them away.
#include <gtest/gtest.h>

#include "unit/partition/place_on.hpp"

namespace deputy::host {
namespace {

TEST(Groups, GrowIntoLargerPartitions) {
  const TestGraph test = Chain("SSSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1}, {2, 3}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n1", "n2", "n3"}}));
}

// Seed row 25.
TEST(Groups, MemberThatIsNotSupportedTakesTheOthersAlong) {
  const TestGraph test = Chain("SUSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n3"}}));
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kGroupIncomplete);
  EXPECT_EQ(placed->verdicts[0][0].detail, "without node 'n1' (U): operator unknown");
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kOperatorUnknown);
  EXPECT_EQ(placed->verdicts[0][2].reason, Reason::kGroupIncomplete);
}

TEST(Groups, AreNotRequestedAfterAQueryThatFailed) {
  const TestGraph test = Chain("SS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1}};
  npu.query_status = Status(StatusCode::kInternal, "no answer");
  EXPECT_TRUE(PlaceOn(test.graph, {&npu, &cpu}).ok());
  EXPECT_EQ(npu.group_queries, 0);
}

TEST(Groups, MemberThatIsDeniedTakesTheOthersToTheNextDelegate) {
  const TestGraph test = Chain("STS");
  TestDelegate first("first", {"S", "T"}), second("second", {"S", "T"}), cpu = TestCpu();
  first.group_list = {{0, 1}};
  const Result<Placement> placed = PlaceOn(test.graph, {&first, &second, &cpu}, {}, {.deny_ops = {"T"}});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n2"}}));
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 1), (Names{{"n0", "n1"}}));
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kGroupIncomplete);
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kDeniedByRule);
}

TEST(Groups, GroupAroundSomebodyElsesNodeWouldMakeACycle) {
  const TestGraph test = Chain("SUS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 0).empty());
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kWouldMakeCycle);
}

TEST(Groups, GroupTakesInWhatStandsBetweenItIfThatIsItsOwners) {
  const TestGraph test = Chain("SSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n1", "n2"}}));
}

TEST(Groups, OfTwoThatWaitForEachOtherTheLastOneGoes) {
  // a -> b and c -> d; {a, d} and {b, c} are each convex and deadlock each other.
  TestGraph test;
  test.Input("x").Node("n0", "S", {"x"}).Node("n1", "T", {"n0"}).Node("n2", "T", {"x"}).Node("n3", "S", {"n2"});
  test.Output("n1").Output("n3");
  TestDelegate first("first", {"S"}), second("second", {"T"}), cpu = TestCpu();
  first.group_list = {{0, 3}};
  second.group_list = {{1, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&first, &second, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n3"}}));
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 1).empty());
  EXPECT_EQ(placed->verdicts[1][1].reason, Reason::kWouldMakeCycle);
}

TEST(Groups, GroupBelowTheMinimumGoesWhole) {
  const TestGraph test = Chain("SSU");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, {}, {.min_nodes = 3});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 0).empty());
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kPartitionTooSmall);
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kPartitionTooSmall);
}

TEST(Groups, WhatWasRefusedAtCompileBreaksItsGroup) {
  const TestGraph test = Chain("SSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1}};
  PlacementOptions options;
  options.refused[{&test.graph, 0, 1}] = {Reason::kRefusedAtCompile, "too hot"};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, options);
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n2"}}));
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kGroupIncomplete);
}

}  // namespace
}  // namespace deputy::host
