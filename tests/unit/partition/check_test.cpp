// The checker must see what a wrong placer could do; each test breaks a sound placement in one way.
#include <gtest/gtest.h>

#include "partition/eligibility.hpp"
#include "unit/partition/place_on.hpp"

namespace deputy::host {
namespace {

class CheckPlacementTest : public testing::Test {
 protected:
  CheckPlacementTest() {
    test_.Input("x").Node("a", "S", {"x"}).Node("b", "U", {"a"}).Node("c", "S", {"b", "a"}).Output("c");
    TestDelegate npu("npu", {"S"}), cpu = TestCpu();
    placement_ = *PlaceOn(test_.graph, {&npu, &cpu});
  }
  TestGraph test_;
  Placement placement_;
};

TEST_F(CheckPlacementTest, ASoundPlacementPasses) { EXPECT_TRUE(CheckPlacement(test_.graph, placement_).ok()); }

TEST_F(CheckPlacementTest, AMissingNodeIsSeen) {
  placement_.partitions.back().spec.nodes.clear();
  EXPECT_EQ(CheckPlacement(test_.graph, placement_).message(),
            "the placement is wrong: node 'c' (S) is placed 0 times");
}

TEST_F(CheckPlacementTest, ANodePlacedTwiceIsSeen) {
  placement_.partitions[1].spec.nodes.push_back(0);
  EXPECT_EQ(CheckPlacement(test_.graph, placement_).code(), StatusCode::kInternal);
}

TEST_F(CheckPlacementTest, AMissingInputIsSeen) {
  placement_.partitions[2].spec.inputs.pop_back();
  EXPECT_EQ(CheckPlacement(test_.graph, placement_).code(), StatusCode::kInternal);
}

TEST_F(CheckPlacementTest, ADuplicateOutputIsSeen) {
  auto& outputs = placement_.partitions[0].spec.outputs;
  outputs.push_back(outputs.front());
  EXPECT_EQ(CheckPlacement(test_.graph, placement_).code(), StatusCode::kInternal);
}

TEST_F(CheckPlacementTest, ACycleBetweenPartitionsIsSeen) {
  auto& first = placement_.partitions[0].spec;
  first.nodes = {0, 2};
  first.inputs = {test_.Value("x"), test_.Value("b")};
  first.outputs = {test_.Value("a"), test_.Value("c")};
  placement_.partitions.pop_back();
  placement_.partition_of = {0, 1, 0};
  const Status status = CheckPlacement(test_.graph, placement_);
  EXPECT_NE(status.message().find("form a cycle"), std::string::npos) << status.message();
}

TEST_F(CheckPlacementTest, AWrongOrderIsSeen) {
  std::swap(placement_.partitions[0], placement_.partitions[1]);
  placement_.partition_of = {1, 0, 2};
  EXPECT_EQ(CheckPlacement(test_.graph, placement_).code(), StatusCode::kInternal);
}

TEST(CheckPlacement, OnlyOutputsThatAnOperatorMustHaveMayBeUnread) {
  TestGraph test;
  test.Input("x").Node("a", "DynamicQuantizeLinear", {"x"}).Node("b", "Dropout", {"a"}).Output("b");
  for (const char* unread : {"scale", "zero"}) test.graph.nodes[0].outputs.push_back(test.Value(unread));
  test.graph.nodes[1].outputs.push_back(test.Value("mask"));
  TestDelegate cpu = TestCpu();
  Placement placement = *PlaceOn(test.graph, {&cpu});
  EXPECT_EQ(placement.partitions[0].spec.outputs.size(), 3u);
  EXPECT_EQ(placement.partitions[1].spec.outputs.size(), 1u);
  placement.partitions[1].spec.outputs.push_back(test.Value("mask"));
  EXPECT_EQ(CheckPlacement(test.graph, placement).code(), StatusCode::kInternal);
}

TEST(Glob, StarsAndQuestionMarksMatch) {
  EXPECT_TRUE(MatchesGlob("head/*", "head/conv_1"));
  EXPECT_TRUE(MatchesGlob("*/nms*", "a/b/nms_2"));
  EXPECT_TRUE(MatchesGlob("c?nv", "conv"));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_FALSE(MatchesGlob("head/*", "tail/conv"));
  EXPECT_FALSE(MatchesGlob("", "x"));
}

}  // namespace
}  // namespace deputy::host
