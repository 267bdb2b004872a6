// Graphs that VerifyGraph refuses; each differs from a sound one in one way.
#include <gtest/gtest.h>

#include "graph/graph.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

class VerifyGraphTest : public testing::Test {
 protected:
  VerifyGraphTest() {
    made_.Input("x").Node("a", "Neg", {"x"}).Node("b", "Abs", {"a"}).Output("b");
    EXPECT_TRUE(VerifyGraph(graph_).ok());
  }

  TestGraph made_;
  Graph& graph_ = made_.graph;
};

TEST_F(VerifyGraphTest, AValueIsMadeOnce) {
  graph_.nodes[1].outputs = graph_.nodes[0].outputs;
  EXPECT_EQ(VerifyGraph(graph_).message(), "value 'a' is made twice");
}

TEST_F(VerifyGraphTest, AValueIsMadeBeforeItIsRead) {
  std::swap(graph_.nodes[0], graph_.nodes[1]);
  EXPECT_EQ(VerifyGraph(graph_).message(), "reads 'a' before any node has made it");
}

TEST_F(VerifyGraphTest, AnOutputIsMade) {
  graph_.outputs.push_back(made_.Value("c"));
  EXPECT_EQ(VerifyGraph(graph_).message(), "output 'c' is made by no node");
}

TEST_F(VerifyGraphTest, ANodeHasTheInputsOfItsOperator) {
  graph_.nodes[1].inputs.push_back(graph_.inputs[0]);
  EXPECT_EQ(VerifyGraph(graph_).message(), "has 2 inputs, needs 1");
}

TEST_F(VerifyGraphTest, ARegionHasTheCapturesOfItsBody) {
  auto body = std::make_shared<Graph>();
  body->captured = {body->AddValue("x")};
  body->outputs = body->captured;
  graph_.nodes[0].regions.push_back({"body", body, {}});
  EXPECT_EQ(VerifyGraph(graph_).message(), "region 'body' does not match its captures");
  graph_.nodes[0].regions[0].captures = graph_.inputs;
  EXPECT_TRUE(VerifyGraph(graph_).ok());
}

}  // namespace
}  // namespace deputy::host
