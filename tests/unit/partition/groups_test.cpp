// Nodes that stay together: whole or not at all, whatever takes one of them away.
#include <gtest/gtest.h>

#include "unit/partition/test_graph.hpp"

namespace deputy::host {
namespace {

using Names = std::vector<std::vector<std::string>>;

// a -> b -> c -> d, with an operator each.
TestGraph Chain(const std::vector<std::string>& ops) {
  TestGraph test;
  test.Input("x");
  std::string last = "x";
  for (size_t i = 0; i < ops.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    test.Node(name, ops[i], {last});
    last = name;
  }
  test.Output(last);
  return test;
}

TEST(Groups, GrowIntoLargerPartitions) {
  const TestGraph test = Chain({"S", "S", "S", "S"});
  TableDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1}, {2, 3}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"a", "b", "c", "d"}}));
}

// Seed row 25.
TEST(Groups, MemberThatIsNotSupportedTakesTheOthersAlong) {
  const TestGraph test = Chain({"S", "U", "S", "S"});
  TableDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"d"}}));
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kGroupIncomplete);
  EXPECT_EQ(placed->verdicts[0][0].detail, "without node 'b' (U): operator unknown");
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kOperatorUnknown);
  EXPECT_EQ(placed->verdicts[0][2].reason, Reason::kGroupIncomplete);
}

TEST(Groups, MemberThatIsDeniedTakesTheOthersToTheNextDelegate) {
  const TestGraph test = Chain({"S", "T", "S"});
  TableDelegate first("first", {"S", "T"}), second("second", {"S", "T"}), cpu = TestCpu();
  first.group_list = {{0, 1}};
  PlacementOptions options;
  options.delegates.resize(3);
  options.delegates[0].deny_ops = {"T"};
  const Result<Placement> placed = PlaceOn(test.graph, {&first, &second, &cpu}, options);
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"c"}}));
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 1), (Names{{"a", "b"}}));
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kGroupIncomplete);
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kDeniedByRule);
}

TEST(Groups, GroupAroundSomebodyElsesNodeWouldMakeACycle) {
  const TestGraph test = Chain({"S", "U", "S"});
  TableDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 0).empty());
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kWouldMakeCycle);
}

TEST(Groups, GroupTakesInWhatStandsBetweenItIfThatIsItsOwners) {
  const TestGraph test = Chain({"S", "S", "S"});
  TableDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"a", "b", "c"}}));
}

TEST(Groups, OfTwoThatWaitForEachOtherTheLastOneGoes) {
  // a -> b and c -> d; {a, d} and {b, c} are each convex and deadlock each other.
  TestGraph test;
  test.Input("x").Node("a", "S", {"x"}).Node("b", "T", {"a"}).Node("c", "T", {"x"}).Node("d", "S", {"c"});
  test.Output("b").Output("d");
  TableDelegate first("first", {"S"}), second("second", {"T"}), cpu = TestCpu();
  first.group_list = {{0, 3}};
  second.group_list = {{1, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&first, &second, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"a", "d"}}));
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 1).empty());
  EXPECT_EQ(placed->verdicts[1][1].reason, Reason::kWouldMakeCycle);
}

TEST(Groups, GroupBelowTheMinimumGoesWhole) {
  const TestGraph test = Chain({"S", "S", "U"});
  TableDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1}};
  PlacementOptions options;
  options.delegates.resize(2);
  options.delegates[0].min_nodes = 3;
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, options);
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 0).empty());
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kPartitionTooSmall);
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kPartitionTooSmall);
}

TEST(Groups, WhatWasRefusedAtCompileBreaksItsGroup) {
  const TestGraph test = Chain({"S", "S", "S"});
  TableDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.group_list = {{0, 1}};
  PlacementOptions options;
  options.refused[{&test.graph, 0, 1}] = {Reason::kRefusedAtCompile, "too hot"};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, options);
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"c"}}));
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kGroupIncomplete);
}

}  // namespace
}  // namespace deputy::host
