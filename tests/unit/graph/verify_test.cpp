// Graphs that VerifyGraph refuses; each differs from a sound one in one way.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

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
  graph_.nodes[0] = MakeNode(PrimitiveBuilder("own", "Repeat", 1), graph_.nodes[0].inputs, graph_.nodes[0].outputs);
  graph_.nodes[0].regions.push_back({"body", body, {}});
  EXPECT_EQ(VerifyGraph(graph_).code(), StatusCode::kModel);
  graph_.nodes[0].regions[0].captures = graph_.inputs;
  EXPECT_TRUE(VerifyGraph(graph_).ok());
}

// Plans find regions by name: a Loop whose body has another one would have none.
TEST_F(VerifyGraphTest, R28_ARegionHasTheNameThatItsOperatorGivesIt) {
  auto body = std::make_shared<Graph>();
  body->captured = {body->AddValue("x")};
  body->outputs = body->captured;
  Node& node = graph_.nodes[0];
  struct Case {
    const char* op;
    std::vector<std::string> right;
    std::string refusal;
  };
  const Case cases[] = {
      {"If", {"then_branch", "else_branch"}, "the attributes then_branch and else_branch are required"},
      {"Loop", {"body"}, "the attribute body is required, and no other graph"},
      {"Scan", {"body"}, "the attribute body is required, and no other graph"},
      {"SequenceMap", {"body"}, "the attribute body is required, and no other graph"},
  };
  const auto refused = [&](const std::vector<std::string>& names) {
    node.regions.clear();
    for (const std::string& name : names) node.regions.push_back({name, body, graph_.inputs});
    return VerifyGraph(graph_).message();
  };
  for (const auto& [op, right, refusal] : cases) {
    const std::vector<ValueId> inputs(op == std::string("Loop") ? 2 : 1, graph_.inputs[0]);
    node = MakeNode(PrimitiveBuilder("", op, 11), inputs, graph_.nodes[0].outputs);
    EXPECT_EQ(refused(right), "") << op;
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{},
                                                  {"bodi"},
                                                  {"then_branch"},
                                                  {"body", "else_branch"},
                                                  {"then_branch", "then_branch"}})
      EXPECT_EQ(refused(wrong), refusal) << op;
  }
  node = MakeNode(PrimitiveBuilder("", "Neg", 13), graph_.inputs, graph_.nodes[0].outputs);
  EXPECT_EQ(refused({"body"}), "has the graph 'body' as an attribute, which the operator does not have");
}

// No run would bind them.
TEST_F(VerifyGraphTest, R28_ABranchHasNoInputs) {
  auto body = std::make_shared<Graph>();
  body->inputs = {body->AddValue("own")};
  body->outputs = body->inputs;
  graph_.nodes[0] = MakeNode(PrimitiveBuilder("", "If", 16), graph_.inputs, graph_.nodes[0].outputs);
  for (const char* name : {"then_branch", "else_branch"}) graph_.nodes[0].regions.push_back({name, body, {}});
  EXPECT_EQ(VerifyGraph(graph_).message(), "region 'then_branch' has inputs, which a branch does not have");
}

// Clip-6 has its bounds as attributes: those of Clip-11, which are inputs, would be ignored.
TEST_F(VerifyGraphTest, ANodeHasNoMoreAndNoFewerOperandsThanItsDefinition) {
  const auto check = [&](const OperatorInfo& info, int32_t version, size_t inputs, size_t outputs) {
    graph_.nodes[0] = MakeNode(PrimitiveBuilder(info.domain, info.name, version),
                               std::vector<ValueId>(inputs, graph_.inputs[0]), graph_.nodes[0].outputs);
    graph_.nodes[0].outputs.resize(outputs, kNone);
    return VerifyGraph(graph_).message();
  };
  size_t checked = 0;
  for (const OperatorInfo& info : AllOperators())
    for (const OperatorDefinition& definition : info.definitions) {
      const int32_t version = definition.since_version;
      const OperandCounts counts = info.CountsAt(version);
      const std::string needs = ", " + std::string(info.name) + "-" + std::to_string(version) + " needs ";
      const size_t outputs = std::max(info.min_outputs, 1u);
      const auto refused = [&](size_t inputs_given, size_t outputs_given) {
        ++checked;
        return check(info, version, inputs_given, outputs_given).find(needs) != std::string::npos;
      };
      EXPECT_TRUE(counts.max_inputs == kVariadic || refused(counts.max_inputs + 1, outputs)) << needs;
      EXPECT_TRUE(counts.min_inputs == 0 || refused(counts.min_inputs - 1, outputs)) << needs;
      EXPECT_TRUE(counts.max_outputs == kVariadic || refused(counts.min_inputs, counts.max_outputs + 1)) << needs;
    }
  EXPECT_GT(checked, 1000u);
  EXPECT_EQ(check(*InfoOf(OpKind::kClip), 6, 3, 1), "has 3 inputs, Clip-6 needs 1");
  EXPECT_EQ(check(*InfoOf(OpKind::kClip), 13, 4, 1), "has 4 inputs, Clip-13 needs 1 to 3");
}

TEST_F(VerifyGraphTest, TheKnownExtentsOfAValueAreCountable) {
  graph_.values[graph_.inputs[0]].type = {DType::kFloat32, true, {kUnknownDim, int64_t{1} << 30, int64_t{1} << 30}};
  const Status status = VerifyGraph(graph_);
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.where(), "value 'x'");
  EXPECT_EQ(status.message(), "shape [?,1073741824,1073741824] has more than 281474976710656 elements");
}

}  // namespace
}  // namespace deputy::host
