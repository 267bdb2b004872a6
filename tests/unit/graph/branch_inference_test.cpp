// Faults of nodes in the branches of an If, whose bodies see the types of the values that they capture; and the places
// that errors of nodes without names have.
#include <gtest/gtest.h>

#include <optional>

#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

// y = c ? then(x) : otherwise(x), for x of float32 [1,2,9,9].
Graph Choice(const PrimitiveBuilder& then, const PrimitiveBuilder& otherwise, const std::string& name) {
  Graph graph;
  const ValueId c = graph.AddValue("c", {DType::kBool, true, {}});
  const ValueId x = graph.AddValue("x", {DType::kFloat32, true, {1, 2, 9, 9}}), y = graph.AddValue("y");
  graph.inputs = {c, x};
  graph.outputs = {y};
  Node node = MakeNode(PrimitiveBuilder("", "If", 21), {c}, {y});
  node.name = name;
  const PrimitiveBuilder* const builders[] = {&then, &otherwise};
  static constexpr const char* kNames[] = {"then_branch", "else_branch"};
  for (size_t i = 0; i < 2; ++i) {
    auto body = std::make_shared<Graph>();
    const ValueId inner = body->AddValue("x"), first = body->AddValue("first"), made = body->AddValue("made");
    body->captured = {inner};
    body->outputs = {made};
    body->nodes = {MakeNode(PrimitiveBuilder("", "Relu", 14), {inner}, {first}),
                   MakeNode(*builders[i], {first}, {made})};
    for (Node& in_branch : body->nodes) in_branch.name.clear();
    node.regions.push_back({kNames[i], body, {x}});
  }
  graph.nodes = {std::move(node)};
  return graph;
}

// Computes nothing; conditions are decided as far as constants tell.
InferenceOptions Deciding() {
  InferenceOptions options;
  options.evaluator = [](const Node&, std::span<const Tensor>) {
    return Result<std::vector<Tensor>>(Error(StatusCode::kNotSupported, "no kernels"));
  };
  return options;
}

std::string ErrorOf(Graph graph, const InferenceOptions& options = Deciding()) {
  const Status status = InferGraph(graph, options);
  return status.ok() ? "" : status.ToString();
}

PrimitiveBuilder Relu() { return PrimitiveBuilder("", "Relu", 14); }
PrimitiveBuilder Softmax(int64_t axis) { return PrimitiveBuilder("", "Softmax", 13).Set("axis", axis); }
// Of 2 channels in groups of 2: needs an even number of them.
PrimitiveBuilder Blocks(int64_t size) { return PrimitiveBuilder("", "SpaceToDepth", 13).Set("blocksize", size); }

TEST(InferIf, R203_ABranchWhoseRankDoesNotFitIsRefused) {
  const std::string wrong = "node 1 (Softmax): axis 4 is out of range for an input of rank 4";
  EXPECT_EQ(ErrorOf(Choice(Softmax(4), Relu(), "if")), "node 'if' (If): region 'then_branch': " + wrong);
  EXPECT_EQ(ErrorOf(Choice(Relu(), Softmax(4), "if")), "node 'if' (If): region 'else_branch': " + wrong);
  EXPECT_EQ(ErrorOf(Choice(Softmax(3), Softmax(-4), "if")), "");
  EXPECT_EQ(
      ErrorOf(Choice(Relu(), PrimitiveBuilder("", "Transpose", 13).Set("perm", Dims{}), "if")),
      "node 'if' (If): region 'else_branch': node 1 (Transpose): attribute 'perm' has 0 values, expected 4, one for "
      "each axis of the input");
}

// The other branch may be the one for these extents.
TEST(InferIf, R203_ABranchForOtherExtentsIsTakenUnlessNoneFits) {
  EXPECT_EQ(ErrorOf(Choice(Blocks(2), Blocks(3), "if")), "");
  EXPECT_EQ(ErrorOf(Choice(Blocks(2), Blocks(4), "if")),
            "node 'if' (If): region 'else_branch': node 1 (SpaceToDepth): an extent of 9 is not a multiple of 4");
}

// Such a branch may be the one that a condition on a rank, which is not computed then, leaves out.
TEST(InferIf, WithoutFoldingABranchMayBeForAnotherRank) {
  EXPECT_EQ(ErrorOf(Choice(Softmax(4), Relu(), "if"), {}), "");
  EXPECT_NE(ErrorOf(Choice(Softmax(4), Softmax(5), "if"), {}), "");
}

TEST(InferIf, R204_NodesWithoutNamesHaveTheirNumbers) {
  EXPECT_EQ(ErrorOf(Choice(Softmax(4), Relu(), "")),
            "node 0 (If): region 'then_branch': node 1 (Softmax): axis 4 is out of range for an input of rank 4");
}

TEST(InferIf, R204_NodesOfTheBranchThatIsPutInPlaceHaveTheirNumbersThere) {
  Graph graph = Choice(Softmax(4), Relu(), "");
  Tensor yes = *Tensor::Allocate(DType::kBool, {});
  *yes.mutable_values<uint8_t>().data() = 1;
  const ValueId c = graph.inputs[0];
  graph.inputs = {graph.inputs[1]};
  graph.values[c].constant = yes;
  EXPECT_EQ(ErrorOf(std::move(graph)),
            "node 0 (If): region 'then_branch': node 1 (Softmax): axis 4 is out of range for an input of rank 4");
}

TEST(InferGraph, R204_TheNumberIsThatOfTheGraphBeforePasses) {
  Graph graph;
  const ValueId x = graph.AddValue("x", {DType::kFloat32, true, {2, 3}});
  const ValueId known = graph.AddConstant("known", *Tensor::Allocate(DType::kFloat32, {2, 3}));
  const ValueId a = graph.AddValue("a"), y = graph.AddValue("y");
  graph.inputs = {x};
  graph.outputs = {a, y};
  graph.nodes = {MakeNode(Relu(), {known}, {a}), MakeNode(Softmax(7), {x}, {y})};
  for (Node& node : graph.nodes) node.name.clear();
  EXPECT_EQ(ErrorOf(graph), "node 1 (Softmax): axis 7 is out of range for an input of rank 2");
  graph.nodes[1].source = std::make_shared<const std::string>("model.py:42");
  EXPECT_EQ(ErrorOf(graph), "node 1 (Softmax), exported at model.py:42: axis 7 is out of range for an input of rank 2");
}

TEST(InferGraph, R155_AnEmptyTextOfAnAttributeWithADefaultIsLeftOut) {
  Graph graph;
  const ValueId x = graph.AddValue("x", {DType::kFloat32, true, {1, 4, 2, 2}}), y = graph.AddValue("y");
  graph.inputs = {x};
  graph.outputs = {y};
  const PrimitiveBuilder builder = PrimitiveBuilder("", "DepthToSpace", 13).Set("blocksize", int64_t{2});
  graph.nodes = {MakeNode(PrimitiveBuilder(builder).Set("mode", std::string()), {x}, {y})};
  ASSERT_EQ(InferGraph(graph, {}).ToString(), "ok");
  EXPECT_FALSE(graph.nodes[0].primitive.Has("mode"));
  EXPECT_EQ(graph.nodes[0].primitive.GetInt("blocksize", 0), 2);
  graph.nodes = {MakeNode(PrimitiveBuilder(builder).Set("mode", std::string("none")), {x}, {y})};
  EXPECT_FALSE(InferGraph(graph, {}).ok());
}

}  // namespace
}  // namespace deputy::host
