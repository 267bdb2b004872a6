#include "measure/decision.hpp"

#include <gtest/gtest.h>

#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

const PlacementDecision kDecision{{{0, {1, 3}, "slow"}, {1, {0}, "slower"}}, "the CPU alone"};

TEST(PlacementDecision, IsReadAsItWasWritten) {
  EXPECT_EQ(ParseDecision(BytesOf(kDecision), 3, 4), kDecision);
  EXPECT_EQ(ParseDecision(BytesOf(PlacementDecision()), 1, 0), PlacementDecision());
}

TEST(PlacementDecision, OneForOtherDelegatesOrNodesIsRefused) {
  EXPECT_FALSE(ParseDecision(BytesOf(kDecision), 2, 4)) << "the last delegate is the CPU";
  EXPECT_FALSE(ParseDecision(BytesOf(kDecision), 3, 3));
}

TEST(PlacementDecision, OneThatIsCutOrTooLongIsRefused) {
  const std::vector<uint8_t> bytes = BytesOf(kDecision);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ParseDecision(std::span(bytes).first(size), 3, 4)) << size;
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(ParseDecision(longer, 3, 4));
}

TEST(PlacementDecision, NodesAreNotOfferedToTheDelegate) {
  TestGraph made({DType::kFloat32, true, {4}});
  made.Input("x").Node("a", "Relu", {"x"}).Node("y", "Abs", {"a"}).Output("y");
  PlacementOptions options;
  Apply({{{0, {1}, "slow"}}, ""}, made.graph, options);
  ASSERT_EQ(options.refused.size(), 1u);
  const auto& [key, verdict] = *options.refused.begin();
  EXPECT_EQ(key, (std::tuple<const Graph*, size_t, NodeId>(&made.graph, 0, 1)));
  EXPECT_EQ(verdict.reason, Reason::kSlower);
  EXPECT_EQ(verdict.detail, "slow");
}

}  // namespace
}  // namespace deputy::host
