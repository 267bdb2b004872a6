// Answers of a delegate, checked against the graph that it was shown.
#include "delegate/answers.hpp"

#include <gtest/gtest.h>

#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

using Nodes = std::vector<NodeId>;

class Answers : public ::testing::Test {
 protected:
  std::string Claim(const Nodes& nodes, const std::vector<ValueId>& inputs = {}, void* handle = nullptr) {
    return claims_.Add(nodes, inputs, {}, handle);
  }

  const Graph graph_ = TestGraph({{"first", "Relu"}, {"second", "Sigmoid"}}).graph;
  GraphView view_ = OfferAll(graph_);
  std::vector<Verdict> verdicts_{2};
  const Nodes both_{0, 1};
  int held_ = 0;
  SupportCollector support_{view_, verdicts_};
  ClaimCollector claims_{view_, {&held_}};
  GroupCollector groups_{view_};
  EstimateCollector estimates_{view_, both_};
};

TEST_F(Answers, SupportIsTheVerdictOfItsNode) {
  EXPECT_EQ(support_.Add(1, 3, "int8 only"), "");
  EXPECT_EQ(verdicts_[0].reason, Reason::kNotAnswered);
  EXPECT_EQ(verdicts_[1].reason, Reason::kDType);
  EXPECT_EQ(verdicts_[1].detail, "int8 only");
  EXPECT_EQ(support_.Add(1, 0, ""), "it answers twice for node 'second' (Sigmoid)");
  EXPECT_EQ(verdicts_[1].reason, Reason::kDType);
}

TEST_F(Answers, SupportOfAWrongNodeOrWithAWrongReasonIsRefused) {
  view_.offered[1] = 0;
  EXPECT_EQ(support_.Add(9, 0, ""), "it answers for node 9, which does not exist");
  EXPECT_EQ(support_.Add(1, 0, ""), "it answers for node 'second' (Sigmoid), which was not offered");
  EXPECT_EQ(support_.Add(0, 32, ""), "it answers node 'first' (Relu) with the unknown reason 32");
  EXPECT_EQ(verdicts_[0].reason, Reason::kOther);
}

TEST_F(Answers, ClaimIsKeptInTheGraphsOrder) {
  EXPECT_EQ(Claim({1, 0}, {0}, this), "");
  EXPECT_EQ(claims_.claims().at(0).nodes, both_);
  EXPECT_EQ(claims_.claims()[0].inputs, std::vector<ValueId>{0});
  EXPECT_EQ(claims_.claims()[0].claim, this);
}

TEST_F(Answers, R99_ClaimOfWrongNodesIsRefusedAndTakesNone) {
  EXPECT_EQ(Claim({}), "a claim has no nodes");
  EXPECT_EQ(Claim({0, 7}), "a claim names node 7, which does not exist");
  EXPECT_EQ(Claim({0, 0}), "a claim names node 'first' (Relu) twice");
  EXPECT_EQ(Claim({0, 0, 1}), "a claim has 3 nodes, the graph has 2");
  view_.offered[1] = 0;
  EXPECT_EQ(Claim({0, 1}), "a claim names node 'second' (Sigmoid), which was not offered");
  EXPECT_EQ(Claim({0}), "");
}

TEST_F(Answers, R99_ClaimOfWrongValuesOrOfAnotherClaimIsRefused) {
  EXPECT_EQ(Claim({0}, {99}), "input 0 of a claim is value 99, which does not exist");
  EXPECT_EQ(Claim({0}, {0, 0}), "a claim names value 0 twice as input");
  EXPECT_EQ(Claim({0}), "");
  EXPECT_EQ(Claim({0}), "node 'first' (Relu) is in two claims");
  EXPECT_EQ(Claim({1}, {}, &held_), "a claim has the handle of another claim");
  EXPECT_EQ(claims_.claims().size(), 1u);
}

TEST_F(Answers, GroupsOfSeveralNodesAreKeptInTheGraphsOrderAndDoNotOverlap) {
  EXPECT_EQ(groups_.Add(Nodes{0}), "a group has 1 node; at least two are needed");
  EXPECT_EQ(groups_.Add(Nodes{1, 0}), "");
  EXPECT_EQ(groups_.Add(both_), "node 'first' (Relu) is in two groups");
  EXPECT_EQ(groups_.groups(), (std::vector<Nodes>{{0, 1}}));
}

TEST_F(Answers, NodesGivenBackAreTakenAndOneEstimateOnly) {
  EXPECT_EQ(estimates_.Add({}, Nodes{1}), "");
  EXPECT_EQ(estimates_.estimate().give_back, Nodes{1});
  EXPECT_EQ(estimates_.Add({}, {}), "it answers twice about one partition");
  EXPECT_EQ(estimates_.estimate().give_back, Nodes{1});
}

TEST_F(Answers, GivingEverythingBackIsNo) {
  EXPECT_EQ(estimates_.Add({}, both_), "");
  EXPECT_FALSE(estimates_.estimate().feasible);
}

TEST_F(Answers, EstimateThatGivesWrongNodesBackIsNotBelieved) {
  for (const auto& [give_back, fault] : {std::pair(Nodes{7}, "it gives back node 7, which the partition does not have"),
                                         std::pair(Nodes{1, 1}, "it gives back node 'second' (Sigmoid) twice"),
                                         std::pair(Nodes{0, 1, 1}, "it gives back 3 of 2 nodes")}) {
    EstimateCollector collector(view_, both_);
    Estimate estimate;
    estimate.feasible = false;
    EXPECT_EQ(collector.Add(estimate, give_back), fault);
    EXPECT_TRUE(collector.estimate().feasible);
  }
}

}  // namespace
}  // namespace deputy::host
