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

TEST(PlacementDecision, HowSureItIsIsReadAsItWasWritten) {
  PlacementDecision unsure = kDecision;
  unsure.unsure_searches = 3;
  unsure.disturbance = 0.25;
  EXPECT_EQ(ParseDecision(BytesOf(unsure), 3, 4), unsure);
}

TEST(PlacementDecision, TheSurerOneStaysAndSearchesAreBounded) {
  const auto found = [](const char* summary, double disturbance) {
    PlacementDecision decision{{}, summary};
    decision.disturbance = disturbance;
    decision.unsure_searches = disturbance > kMostDisturbance ? 1 : 0;
    return decision;
  };
  PlacementDecision decision = MoreCertain(std::nullopt, found("first", 0.6));
  EXPECT_TRUE(decision.is_provisional());
  decision = MoreCertain(decision, found("less disturbed", 0.4));
  EXPECT_EQ(decision.summary, "less disturbed");
  decision = MoreCertain(decision, found("more disturbed", 0.5));
  EXPECT_EQ(decision.summary, "less disturbed");
  EXPECT_EQ(decision.unsure_searches, 3u);
  EXPECT_FALSE(MoreCertain(decision, found("sure", 0.02)).is_provisional());
  EXPECT_EQ(MoreCertain(decision, found("sure", 0.02)).summary, "sure");
  EXPECT_EQ(MoreCertain(found("sure", 0.02), found("disturbed", 0.5)).summary, "sure");
  while (decision.is_provisional()) decision = MoreCertain(decision, found("again", 0.5));
  EXPECT_EQ(decision.unsure_searches, PlacementDecision::kMostUnsureSearches);
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
