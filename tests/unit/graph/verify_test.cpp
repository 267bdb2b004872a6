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
  EXPECT_EQ(VerifyGraph(graph_).message().rfind("value 'a'", 0), 0u);
}

TEST_F(VerifyGraphTest, ARegionHasTheCapturesOfItsBody) {
  auto body = std::make_shared<Graph>();
  body->captured = {body->AddValue("x")};
  body->outputs = body->captured;
  graph_.nodes[0].regions.push_back({"body", body, {}});
  EXPECT_EQ(VerifyGraph(graph_).code(), StatusCode::kModel);
  graph_.nodes[0].regions[0].captures = graph_.inputs;
  EXPECT_TRUE(VerifyGraph(graph_).ok());
}

}  // namespace
}  // namespace deputy::host
