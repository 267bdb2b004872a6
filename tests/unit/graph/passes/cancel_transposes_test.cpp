#include "graph/passes/passes.hpp"
#include "unit/graph/passes/pass_graph.hpp"

namespace deputy::host {
namespace {

const Dims kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};

TEST(CancelTransposes, InverseCancels) {
  PassGraph made;
  ValueId y = made.Node("Relu", {made.Input("x", {1, 2, 3, 4})});
  y = made.Transpose(made.Transpose(y, kToLast), kToFirst);
  made.Output(made.Node("Neg", {y}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Relu,Neg");
  ExpectSameNumbers(made, {Numbers(1).Floats({1, 2, 3, 4})});
}

TEST(CancelTransposes, OthersBecomeOne) {
  PassGraph made;
  const ValueId y = made.Transpose(made.Transpose(made.Input("x", {2, 3, 4}), {1, 2, 0}), {2, 1, 0});
  made.Output(made.Node("Neg", {y}));
  const Graph graph = Passed(made.graph);
  ASSERT_EQ(Operators(graph), "Neg,Transpose");
  const std::span<const int64_t> perm = graph.nodes[1].primitive.GetInts("perm");
  EXPECT_EQ(Dims(perm.begin(), perm.end()), (Dims{0, 2, 1}));
  ExpectSameNumbers(made, {Numbers(1).Floats({2, 3, 4})});
}

TEST(CancelTransposes, MeetAcrossElementWiseNodes) {
  PassGraph made;
  ValueId y = made.Transpose(made.Input("x", {1, 2, 3, 4}), kToLast);
  y = made.Node("Clip", {made.Node("Relu", {y}), kNone, made.Constant(Floats({}, {0.5f}))});
  y = made.Node("Mul", {y, made.Constant(Floats({1}, {2}))});
  made.Output(made.Node("Neg", {made.Transpose(y, kToFirst)}));
  const Graph graph = Passed(made.graph);
  EXPECT_EQ(Operators(graph), "Relu,Clip,Mul,Neg");
  EXPECT_EQ(graph.values[graph.nodes[0].outputs[0]].type.dims, (Dims{1, 2, 3, 4}));
  ExpectSameNumbers(made, {Numbers(1).Floats({1, 2, 3, 4})});
}

TEST(CancelTransposes, MeetAcrossASumOfTwoTransposed) {
  PassGraph made;
  const ValueId a = made.Transpose(made.Input("a", {1, 2, 3, 4}), kToLast);
  const ValueId b = made.Transpose(made.Input("b", {1, 2, 1, 4}), kToLast);
  made.Output(made.Transpose(made.Node("Add", {a, b}), kToFirst));
  const Graph graph = Passed(made.graph);
  EXPECT_EQ(Operators(graph), "Add,Identity");
  Numbers numbers(1);
  ExpectSameNumbers(made, {numbers.Floats({1, 2, 3, 4}), numbers.Floats({1, 2, 1, 4})});
}

TEST(CancelTransposes, DifferentPermutationsDoNotMeet) {
  PassGraph made;
  const ValueId a = made.Transpose(made.Input("a", {3, 3, 3}), {1, 0, 2});
  const ValueId b = made.Transpose(made.Input("b", {3, 3, 3}), {2, 1, 0});
  made.Output(made.Node("Add", {a, b}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Transpose,Transpose,Add");
}

TEST(CancelTransposes, ValueThatSomebodyElseReadsStays) {
  PassGraph made;
  const ValueId t = made.Transpose(made.Input("x", {2, 3}), {1, 0});
  made.Output(made.Node("Relu", {t}));
  made.Output(made.Node("Softmax", {t}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Transpose,Relu,Softmax");
}

TEST(CancelTransposes, SecondOfTwoReadersMayStillBeTheInverse) {
  PassGraph made;
  const ValueId x = made.Node("Abs", {made.Input("x", {2, 3})});
  const ValueId t = made.Transpose(x, {1, 0});
  made.Output(made.Node("Softmax", {t}));
  made.Output(made.Node("Neg", {made.Transpose(t, {1, 0})}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Abs,Transpose,Softmax,Neg");
  ExpectSameNumbers(made, {Numbers(1).Floats({2, 3})});
}

TEST(CancelTransposes, OutputKeepsItsName) {
  PassGraph made;
  made.Output(made.Node("Relu", {made.Transpose(made.Input("x", {2, 3}), {1, 0})}));
  const Graph graph = Passed(made.graph);
  EXPECT_EQ(Operators(graph), "Relu,Transpose");
  EXPECT_EQ(graph.values[graph.outputs[0]].name, "Relu2_0");
  EXPECT_EQ(graph.values[graph.outputs[0]].type.dims, (Dims{3, 2}));
  ExpectSameNumbers(made, {Numbers(1).Floats({2, 3})});
}

TEST(CancelTransposes, NodeNameIsThatOfTheLast) {
  PassGraph made;
  made.Output(made.Transpose(made.Transpose(made.Input("x", {2, 3, 4}), {1, 2, 0}), {1, 0, 2}));
  const Graph graph = Passed(made.graph);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].name, "Transpose2");
}

}  // namespace
}  // namespace deputy::host
