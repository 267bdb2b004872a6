#include <bit>

#include "graph/passes/passes.hpp"
#include "unit/graph/passes/pass_graph.hpp"

namespace deputy::host {
namespace {

// Relu → the node → Neg; the operators that are left.
std::string Left(const PrimitiveBuilder& builder, const std::vector<Tensor>& operands = {}, Dims dims = {2, 3},
                 DType dtype = DType::kFloat32) {
  PassGraph made;
  const ValueId x = made.Input("x", std::move(dims), dtype);
  std::vector<ValueId> inputs = {made.Node("Abs", {x})};
  for (const Tensor& operand : operands) inputs.push_back(operand.empty() ? kNone : made.Constant(operand));
  made.Output(made.Node("Neg", {made.Node(builder, inputs)}));
  return Operators(Passed(made.graph, Only(Pass::kDropIdentities)));
}

constexpr const char* kGone = "Abs,Neg";

TEST(DropIdentities, IdentityGoes) { EXPECT_EQ(Left(PrimitiveBuilder("", "Identity", 1)), kGone); }

TEST(DropIdentities, DropoutGoesUnlessItTrains) {
  const Tensor ratio = Floats({}, {0.5f});
  const auto training = [](uint8_t value) { return Values<uint8_t>(DType::kBool, {}, {value}); };
  EXPECT_EQ(Left(PrimitiveBuilder("", "Dropout", 13)), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Dropout", 13), {ratio, training(0)}), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Dropout", 13), {ratio, training(1)}), "Abs,Dropout,Neg");
}

TEST(DropIdentities, CastToTheSameTypeGoes) {
  const auto to = [](DType dtype) { return PrimitiveBuilder("", "Cast", 13).Set("to", static_cast<int64_t>(dtype)); };
  EXPECT_EQ(Left(to(DType::kFloat32)), kGone);
  EXPECT_EQ(Left(to(DType::kFloat64)), "Abs,Cast,Neg");
}

TEST(DropIdentities, TransposeThatKeepsTheOrderGoes) {
  EXPECT_EQ(Left(PrimitiveBuilder("", "Transpose", 13).Set("perm", Dims{0, 1})), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Transpose", 13).Set("perm", Dims{1, 0})), "Abs,Transpose,Neg");
  EXPECT_EQ(Left(PrimitiveBuilder("", "Transpose", 13)), "Abs,Transpose,Neg");
  EXPECT_EQ(Left(PrimitiveBuilder("", "Transpose", 13), {}, {5}), kGone);
}

TEST(DropIdentities, ReshapeToTheSameShapeGoes) {
  EXPECT_EQ(Left(PrimitiveBuilder("", "Reshape", 13), {Ints({2, -1})}), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Reshape", 13), {Ints({3, 2})}), "Abs,Reshape,Neg");
  EXPECT_EQ(Left(PrimitiveBuilder("", "Flatten", 13)), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Expand", 13), {Ints({1, 3})}), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Tile", 13), {Ints({1, 1})}), kGone);
}

// An Expand keeps the extents of its input also where its shape is not valid, which the run then refuses.
TEST(DropIdentities, ComputedShapesAndSizesStay) {
  for (const char* op : {"Expand", "Split"}) {
    PassGraph made;
    const ValueId x = made.Node("Abs", {made.Input("x", {3})}), operand = made.Input("operand", {1}, DType::kInt64);
    made.Output(made.Node("Neg", {made.Node(op, {x, operand})}));
    EXPECT_EQ(Operators(Passed(made.graph, Only(Pass::kDropIdentities))), fmt::format("Abs,{},Neg", op));
  }
}

TEST(DropIdentities, SymbolicExtentsAreTheSameWhereTheSymbolIs) {
  for (const int64_t extent : {SymbolDim(0), kUnknownDim}) {
    PassGraph made;
    made.graph.AddSymbol("N");
    const ValueId x = made.Node("Abs", {made.Input("x", {extent, 3})});
    made.Output(made.Node("Neg", {made.Node("Reshape", {x, made.Constant(Ints({-1, 3}))})}));
    EXPECT_EQ(Operators(Passed(made.graph, Only(Pass::kDropIdentities))),
              extent == kUnknownDim ? "Abs,Reshape,Neg" : kGone);
  }
}

TEST(DropIdentities, SliceOfEverythingGoes) {
  const PrimitiveBuilder slice("", "Slice", 13);
  EXPECT_EQ(Left(slice, {Ints({0, 0}), Ints({2, INT64_MAX}), Ints({0, 1})}), kGone);
  EXPECT_EQ(Left(slice, {Ints({-1}), Ints({INT64_MIN}), Ints({1}), Ints({-1})}), "Abs,Slice,Neg");  // reverses
  EXPECT_EQ(Left(slice, {Ints({1}), Ints({3}), Ints({1})}), "Abs,Slice,Neg");
}

TEST(DropIdentities, PadOfNothingGoes) {
  EXPECT_EQ(Left(PrimitiveBuilder("", "Pad", 13), {Ints({0, 0, 0, 0})}), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Pad", 13), {Ints({0, 1, 0, -1})}), "Abs,Pad,Neg");  // shifts
}

TEST(DropIdentities, ClipWithoutBoundsGoes) {
  EXPECT_EQ(Left(PrimitiveBuilder("", "Clip", 13)), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Clip", 13), {Tensor(), Floats({}, {6})}), "Abs,Clip,Neg");
}

TEST(DropIdentities, ConcatAndSumOfOneGo) {
  EXPECT_EQ(Left(PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0})), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Sum", 13)), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Split", 13)), kGone);
}

TEST(DropIdentities, ProductWithOneGoes) {
  EXPECT_EQ(Left(PrimitiveBuilder("", "Mul", 14), {Floats({3}, {1, 1, 1})}), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Div", 14), {Floats({}, {1})}), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Mul", 14), {Floats({3}, {1, 1, 2})}), "Abs,Mul,Neg");
  EXPECT_EQ(Left(PrimitiveBuilder("", "Mul", 14), {Floats({2, 1, 1}, {1, 1})}), "Abs,Mul,Neg");  // widens
  EXPECT_EQ(Left(PrimitiveBuilder("", "Mul", 14), {Floats({1, 1, 1}, {1})}), "Abs,Mul,Neg");     // adds an axis
}

// -0 + 0 is +0, and 1/x tells them apart.
TEST(DropIdentities, SumWithZeroGoesOnlyWhereMinusZeroStays) {
  EXPECT_EQ(Left(PrimitiveBuilder("", "Add", 14), {Floats({}, {0.0f})}), "Abs,Add,Neg");
  EXPECT_EQ(Left(PrimitiveBuilder("", "Add", 14), {Floats({}, {-0.0f})}), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Sub", 14), {Floats({}, {0.0f})}), kGone);
  EXPECT_EQ(Left(PrimitiveBuilder("", "Sub", 14), {Floats({}, {-0.0f})}), "Abs,Sub,Neg");
  EXPECT_EQ(Left(PrimitiveBuilder("", "Add", 14), {Int(0)}, {2, 3}, DType::kInt64), kGone);
}

TEST(DropIdentities, SpecialNumbersKeepTheirBits) {
  PassGraph made;
  const ValueId x = made.Input("x", {5});
  ValueId y = made.Node("Mul", {x, made.Constant(Floats({}, {1}))});
  y = made.Node("Add", {y, made.Constant(Floats({}, {-0.0f}))});
  made.Output(made.Node("Sub", {y, made.Constant(Floats({}, {0.0f}))}));
  const Tensor input = Floats({5}, {-0.0f, 0.0f, INFINITY, NAN, 1e-42f});
  const Tensor before = Evaluated(Passed(made.graph, NoPasses()), {input})[0];
  const Tensor after = Evaluated(Passed(made.graph), {input})[0];
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(after.values<float>()[i]), std::bit_cast<uint32_t>(before.values<float>()[i]))
        << i;
}

TEST(DropIdentities, ReshapesThatUndoEachOtherGo) {
  PassGraph made;
  ValueId y = made.Node("Abs", {made.Input("x", {2, 3})});
  y = made.Node("Unsqueeze", {y, made.Constant(Ints({1}))});
  y = made.Node("Squeeze", {y, made.Constant(Ints({1}))});
  y = made.Node("Reshape", {y, made.Constant(Ints({6}))});
  y = made.Node("Reshape", {y, made.Constant(Ints({2, 3}))});
  made.Output(made.Node("Neg", {y}));
  EXPECT_EQ(Operators(Passed(made.graph)), kGone);
}

TEST(DropIdentities, OutputKeepsItsNameAndIsMadeByTheNodeBefore) {
  PassGraph made;
  const ValueId y = made.Node("Abs", {made.Input("x", {2})});
  made.Output(made.Node("Identity", {y}));
  made.Output(made.Node("Neg", {y}));
  const Graph graph = Passed(made.graph);
  EXPECT_EQ(Operators(graph), kGone);
  EXPECT_EQ(graph.values[graph.outputs[0]].name, "Identity2_0");
  ExpectSameNumbers(made, {Floats({2}, {-1, 2})});
}

TEST(DropIdentities, WhatBecameAnOutputIsNotLostWhenReshapesAreUndone) {
  PassGraph made;
  const ValueId y = made.Node("Abs", {made.Input("x", {2, 3})});
  const ValueId flat = made.Node("Reshape", {y, made.Constant(Ints({6}))});
  made.Output(made.Node("Identity", {y}));
  made.Output(made.Node("Reshape", {flat, made.Constant(Ints({2, 3}))}));
  EXPECT_TRUE(VerifyGraph(Passed(made.graph)).ok());
  ExpectSameNumbers(made, {Floats({2, 3}, {-1, 2, -3, 4, -5, 6})});
}

TEST(DropIdentities, InputHandedThroughStaysANode) {
  PassGraph made;
  made.Output(made.Node("Identity", {made.Input("x", {2})}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Identity");
}

TEST(DropIdentities, OneValueAsTwoOutputsStaysANode) {
  PassGraph made;
  const ValueId y = made.Node("Abs", {made.Input("x", {2})});
  made.Output(y);
  made.Output(made.Node("Identity", {y}));
  EXPECT_EQ(Operators(Passed(made.graph)), "Abs,Identity");
}

TEST(DropIdentities, BranchesAreRewrittenToo) {
  auto body = std::make_shared<Graph>();
  body->captured = {body->AddValue("x")};
  for (const char* op : {"Identity", "Relu"}) {
    Node& node = body->nodes.emplace_back();
    node.primitive = PrimitiveBuilder("", op, 14).Finish();
    node.inputs = {static_cast<ValueId>(body->values.size() - 1)};
    node.outputs = {body->AddValue(op)};
  }
  body->outputs = {body->nodes[1].outputs[0]};
  PassGraph made;
  const ValueId condition = made.Input("condition", {}, DType::kBool), x = made.Input("x", {2});
  const ValueId passed = made.Node("Identity", {x});
  made.Output(made.Node("If", {condition}));
  made.graph.nodes.back().regions = {{"then_branch", body, {passed}}, {"else_branch", body, {x}}};
  const Graph graph = Passed(made.graph);
  ASSERT_EQ(Operators(graph), "If");
  EXPECT_EQ(graph.nodes[0].regions[0].captures, std::vector<ValueId>{x});
  EXPECT_EQ(Operators(*graph.nodes[0].regions[0].body), "Relu");
  EXPECT_EQ(body->nodes.size(), 2u) << "the shared body was changed in place";
}

}  // namespace
}  // namespace deputy::host
