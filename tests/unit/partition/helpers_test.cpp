// What the host lends to plugins: its clustering, and the grouping of quantized operators.
#include "partition/helpers.hpp"

#include <gtest/gtest.h>

#include "unit/partition/place_on.hpp"

namespace deputy::host {
namespace {

using Groups = std::vector<std::vector<NodeId>>;

std::vector<uint32_t> ClusterOf(const TestGraph& test, const std::vector<uint32_t>& wanted) {
  return DefaultPartitionHelpers().Cluster(OfferAll(test.graph), wanted).cluster_of;
}

TEST(PartitionHelpers, WhatIsNotWantedDividesAChain) {
  TestGraph test;
  test.Input("x").Node("a", "S", {"x"}).Node("b", "U", {"a"}).Node("c", "S", {"b"}).Node("d", "S", {"c"}).Output("d");
  EXPECT_EQ(ClusterOf(test, {1, 0, 1, 1}), (std::vector<uint32_t>{0, kNone, 1, 1}));
}

TEST(PartitionHelpers, DiamondWithAForeignArmIsTwoClusters) {
  TestGraph test;
  test.Input("x").Node("a", "S", {"x"}).Node("b", "U", {"a"}).Node("c", "S", {"a"}).Node("d", "S", {"b", "c"});
  test.Output("d");
  const std::vector<uint32_t> clusters = ClusterOf(test, {1, 0, 1, 1});
  EXPECT_NE(clusters[0], clusters[3]);
  EXPECT_EQ(clusters[1], kNone);
}

TEST(PartitionHelpers, GroupStaysTogether) {
  // Without the group, a would be by itself: b stands between a and d.
  TestGraph test;
  test.Input("x").Node("a", "S", {"x"}).Node("b", "S", {"x"}).Node("c", "U", {"b"}).Node("d", "S", {"c"});
  test.Output("a").Output("d");
  const std::vector<uint32_t> clusters = ClusterOf(test, {2, 1, 0, 2});
  EXPECT_EQ(clusters[0], clusters[3]);
  EXPECT_NE(clusters[0], clusters[1]);
}

TEST(PartitionHelpers, GroupThatWouldWaitForItselfIsInNoCluster) {
  TestGraph test;
  test.Input("x").Node("a", "S", {"x"}).Node("b", "U", {"a"}).Node("c", "S", {"b"}).Node("d", "S", {"c"}).Output("d");
  EXPECT_EQ(ClusterOf(test, {2, 0, 2, 1}), (std::vector<uint32_t>{kNone, kNone, kNone, 0}));
}

TEST(PartitionHelpers, WhatOthersHoldTogetherIsNotStraddled) {
  // b and c are one partition of somebody else: a and d may not be joined through it.
  TestGraph test;
  test.Input("x").Node("a", "S", {"x"}).Node("b", "U", {"a"}).Node("c", "U", {"x"}).Node("d", "S", {"c"});
  test.Output("b").Output("d");
  GraphView view = OfferAll(test.graph);
  const std::vector<uint32_t> wanted{1, 0, 0, 1};
  EXPECT_EQ(DefaultPartitionHelpers().Cluster(view, wanted).count, 1u);
  view.group_of = {0, 4, 4, 3};
  EXPECT_EQ(DefaultPartitionHelpers().Cluster(view, wanted).count, 2u);
}

TestGraph Quantized() {
  TestGraph test;
  test.Input("x").Input("w");
  test.Node("dx", "DequantizeLinear", {"x"}).Node("dw", "DequantizeLinear", {"w"});
  test.Node("conv", "Conv", {"dx", "dw"}).Node("q", "QuantizeLinear", {"conv"}).Output("q");
  return test;
}

TEST(PartitionHelpers, QuantizedOperatorIsGroupedWithItsNeighbours) {
  const TestGraph test = Quantized();
  EXPECT_EQ(DefaultPartitionHelpers().QuantizedGroups(OfferAll(test.graph)), (Groups{{2, 0, 1, 3}}));
}

TEST(PartitionHelpers, SharedDequantizeIsLeftOut) {
  TestGraph read = Quantized(), output = Quantized();
  read.Node("relu", "Relu", {"dx"}).Output("relu");
  output.Output("dx");
  for (const TestGraph* test : {&read, &output})
    EXPECT_EQ(DefaultPartitionHelpers().QuantizedGroups(OfferAll(test->graph)), (Groups{{2, 1, 3}}));
}

TEST(PartitionHelpers, FloatOperatorsAreNotGrouped) {
  TestGraph test;
  test.Input("x").Node("a", "Relu", {"x"}).Node("q", "QuantizeLinear", {"a"}).Output("q");
  EXPECT_TRUE(DefaultPartitionHelpers().QuantizedGroups(OfferAll(test.graph)).empty());
}

}  // namespace
}  // namespace deputy::host
