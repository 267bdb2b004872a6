// Nodes that the definition of their operator rules out: refused with the attribute or operand and the rule.
#include "graph/definition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/test_graph.hpp"
#include "unit/graph/infer_one.hpp"

namespace deputy::host {
namespace {

using AttributeInts = std::vector<int64_t>;

ValueType Of(DType dtype, std::vector<int64_t> dims) { return {dtype, true, std::move(dims)}; }

PrimitiveBuilder Builder(const char* op) {
  const OpKind kind = FindOperator("", op);
  return PrimitiveBuilder("", op, InfoOf(kind)->newest());
}

std::string Attributes(const PrimitiveBuilder& builder, const std::vector<ValueType>& inputs) {
  return CheckAttributes(builder.Finish(), inputs).message();
}

std::string Types(const PrimitiveBuilder& builder, const std::vector<DType>& inputs,
                  const std::vector<DType>& outputs = {}) {
  std::vector<ValueType> in, out;
  for (const DType dtype : inputs) in.push_back({dtype, false, {}});
  for (const DType dtype : outputs) out.push_back({dtype, false, {}});
  return CheckElementTypes(builder.Finish(), in, out).message();
}

const std::vector<ValueType> kImage{Of(DType::kFloat32, {1, 4, 8, 8}), Of(DType::kFloat32, {4, 4, 3, 3})};

TEST(Definition, R155_ListsHaveOneValueForEachSpatialAxis) {
  EXPECT_EQ(Attributes(Builder("Conv").Set("strides", AttributeInts{1, 1}), kImage), "");
  EXPECT_EQ(Attributes(Builder("Conv").Set("strides", AttributeInts{}), kImage),
            "attribute 'strides' has 0 values, expected 2, one for each spatial axis");
  EXPECT_EQ(Attributes(Builder("Conv").Set("dilations", AttributeInts{1, 1, 1}), kImage),
            "attribute 'dilations' has 3 values, expected 2, one for each spatial axis");
  EXPECT_EQ(Attributes(Builder("Conv").Set("pads", AttributeInts{0, 0}), kImage),
            "attribute 'pads' has 2 values, expected 4, two for each spatial axis");
  EXPECT_EQ(Attributes(Builder("MaxPool").Set("kernel_shape", AttributeInts{2}), kImage),
            "attribute 'kernel_shape' has 1 values, expected 2, one for each spatial axis");
}

TEST(Definition, R155_ListsOfAnInputOfUnknownRankHaveOneLength) {
  const std::vector<ValueType> unknown(2, {DType::kFloat32, false, {}});
  EXPECT_EQ(Attributes(Builder("Conv").Set("strides", AttributeInts{1}).Set("pads", AttributeInts{0, 0}), unknown), "");
  EXPECT_EQ(
      Attributes(Builder("Conv").Set("strides", AttributeInts{1, 1}).Set("kernel_shape", AttributeInts{3}), unknown),
      "attribute 'strides' has 2 values, expected 1, one for each spatial axis");
  EXPECT_EQ(Attributes(Builder("Conv").Set("pads", AttributeInts{0, 0, 0}), unknown),
            "attribute 'pads' has 3 values, expected 2, two for each spatial axis");
}

TEST(Definition, R155_ListsOfAnInputOfUnknownRankFitTheWeights) {
  const std::vector<ValueType> weights{{DType::kFloat32, false, {}}, Of(DType::kFloat32, {4, 4, 3, 3})};
  EXPECT_EQ(Attributes(Builder("Conv").Set("strides", AttributeInts{1, 1}), weights), "");
  EXPECT_EQ(Attributes(Builder("Conv").Set("strides", AttributeInts{1}), weights),
            "attribute 'strides' has 1 values, expected 2, one for each spatial axis");
}

TEST(Definition, R155_ValuesAreInTheirRange) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(Attributes(Builder("Conv").Set("strides", AttributeInts{1, 0}), kImage),
            "attribute 'strides' has the value 0, expected 1 to 2147483647");
  EXPECT_EQ(Attributes(
                Builder("AveragePool").Set("kernel_shape", AttributeInts{2, 2}).Set("pads", AttributeInts{0, 0, 0, -1}),
                kImage),
            "attribute 'pads' has the value -1, expected 0 to 2147483647");
  EXPECT_EQ(Attributes(Builder("Conv").Set("group", kLeast), kImage),
            "attribute 'group' has the value -9223372036854775808, expected 1 to 2147483647");
  EXPECT_EQ(Attributes(Builder("LpNormalization").Set("p", int64_t{3}), kImage),
            "attribute 'p' has the value 3, expected 1 to 2");
}

TEST(Definition, R155_AttributesThatAreRequiredAreThere) {
  EXPECT_EQ(Attributes(Builder("MaxPool"), kImage), "attribute 'kernel_shape' is missing");
  EXPECT_EQ(Attributes(Builder("Cast"), kImage), "attribute 'to' is missing");
  EXPECT_EQ(Attributes(Builder("Concat"), kImage), "attribute 'axis' is missing");
  EXPECT_EQ(Attributes(PrimitiveBuilder("", "Concat", 1), kImage), "");  // its default was 1
}

TEST(Definition, R155_AttributesHaveTheirKind) {
  EXPECT_EQ(Attributes(Builder("Conv").Set("strides", int64_t{1}), kImage),
            "attribute 'strides' is an integer, expected a list of integers");
  EXPECT_EQ(Attributes(Builder("Gemm").Set("alpha", int64_t{1}), {}),
            "attribute 'alpha' is an integer, expected a float");
  // Of another definition: it is read all the same.
  EXPECT_EQ(
      Attributes(PrimitiveBuilder("", "MaxPool", 1).Set("kernel_shape", AttributeInts{2, 2}).Set("dilations", 2.0f),
                 kImage),
      "attribute 'dilations' is a float, expected a list of integers");
  EXPECT_EQ(Attributes(Builder("Relu").Set("vendors_own", 2.0f), kImage), "");
}

TEST(Definition, R155_TextsAreOfTheListedWords) {
  EXPECT_EQ(Attributes(Builder("Conv").Set("auto_pad", std::string("SAME_UPPER")), kImage), "");
  EXPECT_EQ(Attributes(Builder("Conv").Set("auto_pad", std::string()), kImage), "");
  EXPECT_EQ(Attributes(Builder("Conv").Set("auto_pad", std::string("SAME")), kImage),
            "attribute 'auto_pad' is 'SAME', expected one of: NOTSET SAME_UPPER SAME_LOWER VALID");
  EXPECT_EQ(Attributes(Builder("DepthToSpace").Set("blocksize", int64_t{2}).Set("mode", std::string("DC")), kImage),
            "attribute 'mode' is 'DC', expected one of: DCR CRD");
}

TEST(Definition, R155_PermutationsHaveOneValueForEachAxis) {
  EXPECT_EQ(Attributes(Builder("Transpose").Set("perm", AttributeInts{0, 1}), kImage),
            "attribute 'perm' has 2 values, expected 4, one for each axis of the input");
}

TEST(Definition, R155_AVersionBeforeTheFirstDefinitionIsRefused) {
  EXPECT_EQ(Attributes(PrimitiveBuilder("", "Conv", 0), kImage),
            "version 0 of Conv does not exist, the first one is 1");
}

TEST(Definition, R156_ElementTypesAreThoseOfTheDefinitions) {
  EXPECT_EQ(Types(Builder("Conv"), {DType::kFloat16, DType::kFloat16}, {DType::kFloat16}), "");
  EXPECT_EQ(Types(Builder("Conv"), {DType::kInt8, DType::kInt8}),
            "input 0 ('X') has element type int8, expected float32, float16, float64, bfloat16");
  EXPECT_EQ(Types(Builder("Where"), {DType::kFloat32, DType::kFloat32, DType::kFloat32}),
            "input 0 ('condition') has element type float32, expected bool");
  // Nothing is known of the element type.
  EXPECT_EQ(Types(Builder("Conv"), {DType::kUndefined, DType::kFloat16}), "");
}

TEST(Definition, R156_OperandsOfOneTypeVariableHaveOneElementType) {
  EXPECT_EQ(Types(Builder("Conv"), {DType::kFloat32, DType::kFloat16}),
            "input 1 ('W') has element type float16, expected float32, that of 'X' (T)");
  EXPECT_EQ(Types(Builder("Add"), {DType::kInt32, DType::kInt32}, {DType::kInt64}),
            "output 0 ('C') has element type int64, expected int32, that of 'A' (T)");
  EXPECT_EQ(Types(Builder("Concat"), {DType::kInt32, DType::kInt32, DType::kInt64}),
            "input 2 ('inputs') has element type int64, expected int32, that of 'inputs' (T)");
}

TEST(Definition, R157_AZeroPointHasTheElementTypeOfItsTensor) {
  const auto linear = [](DType zero_point) {
    return Types(Builder("QLinearConv"), {DType::kUint8, DType::kFloat32, zero_point, DType::kInt8, DType::kFloat32,
                                          DType::kInt8, DType::kFloat32, DType::kUint8});
  };
  EXPECT_EQ(linear(DType::kUint8), "");
  EXPECT_EQ(linear(DType::kInt8), "input 2 ('x_zero_point') has element type int8, expected uint8, that of 'x' (T1)");
  EXPECT_EQ(linear(DType::kFloat32),
            "input 2 ('x_zero_point') has element type float32, expected uint8, that of 'x' (T1)");
  EXPECT_EQ(Types(Builder("DequantizeLinear"), {DType::kInt8, DType::kFloat32, DType::kUint16}),
            "input 2 ('x_zero_point') has element type uint16, expected int8, that of 'x' (T1)");
}

// Of scales and zero points, where only the extents are wrong.
TEST(Definition, R157_ScalesAndZeroPointsAreOneOrOneForEachChannel) {
  const auto convolution = [](std::vector<int64_t> x_scale, std::vector<int64_t> w_scale, std::vector<int64_t> bias) {
    const std::vector<Operand> operands{Typed({1, 4, 8, 8}, DType::kUint8), Typed(std::move(x_scale), DType::kFloat32),
                                        Typed({}, DType::kUint8),           Typed({6, 4, 3, 3}, DType::kInt8),
                                        Typed(w_scale, DType::kFloat32),    Typed(w_scale, DType::kInt8),
                                        Typed({}, DType::kFloat32),         Typed({}, DType::kUint8),
                                        Typed(bias, DType::kInt32)};
    return TryInfer(Builder("QLinearConv"), operands).status().message();
  };
  EXPECT_EQ(convolution({}, {6}, {6}), "");
  EXPECT_EQ(convolution({1}, {1}, {6}), "");
  EXPECT_EQ(convolution({4}, {6}, {6}), "input 'x_scale' has shape [4], expected one value");
  EXPECT_EQ(convolution({}, {4}, {6}), "input 'w_scale' has shape [4], expected one value, or a list of 6");
  EXPECT_EQ(convolution({}, {6, 1}, {6}), "input 'w_scale' has shape [6,1], expected one value, or a list of 6");
  EXPECT_EQ(convolution({}, {6}, {5}), "input 'B' has shape [5], expected a value for each channel");
}

TEST(Definition, R157_ScalesOfAProductAreOneOrThoseOfRowsAndColumns) {
  const auto product = [](std::vector<int64_t> a_zero, std::vector<int64_t> b_zero) {
    return TryInfer(Builder("MatMulInteger"),
                    {Typed({2, 3}, DType::kUint8), Typed({3, 5}, DType::kInt8), Typed(std::move(a_zero), DType::kUint8),
                     Typed(std::move(b_zero), DType::kInt8)})
        .status()
        .message();
  };
  EXPECT_EQ(product({}, {5}), "");
  EXPECT_EQ(product({2}, {1, 5}), "");
  EXPECT_EQ(product({3}, {}), "input 'a_zero_point' has shape [3], expected one value, or a list of 2");
  EXPECT_EQ(product({}, {5, 1}), "input 'b_zero_point' has shape [5,1], expected [1,5]");
}

TEST(Definition, TheGraphIsRefusedWithNodeAttributeAndRule) {
  TestGraph made(Of(DType::kFloat32, {1, 4, 8, 8}));
  made.Input("x");
  made.graph.nodes.push_back(
      MakeNode(Builder("MaxPool").Set("kernel_shape", AttributeInts{2, 2}).Set("strides", AttributeInts{}),
               made.graph.inputs, {made.graph.AddValue("y")}));
  made.graph.nodes.back().name = "pool";
  made.graph.outputs = made.graph.nodes.back().outputs;
  const Status status = InferGraph(made.graph, {});
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.ToString().find("node 'pool' (MaxPool)"), status.ToString().find("node"));
  EXPECT_NE(status.message().find("attribute 'strides' has 0 values"), std::string::npos);
}

// The condition of an If is an operand like any other.
TEST(Definition, R156_TheConditionOfAnIfIsABool) {
  TestGraph made(Of(DType::kInt32, {}));
  made.Input("x");
  auto body = std::make_shared<Graph>();
  body->captured = {body->AddValue("x", Of(DType::kInt32, {}))};
  body->outputs = body->captured;
  Node node = MakeNode(Builder("If"), made.graph.inputs, {made.graph.AddValue("y")});
  node.regions = {{"then_branch", body, made.graph.inputs}, {"else_branch", body, made.graph.inputs}};
  made.graph.outputs = node.outputs;
  made.graph.nodes.push_back(std::move(node));
  EXPECT_EQ(InferGraph(made.graph, {}).message(), "input 0 ('cond') has element type int32, expected bool");
}

TEST(Definition, EachOperandOfTheListIsReadable) {
  for (const OperatorInfo& info : AllOperators()) {
    const bool draws = info.max_inputs == 0;
    EXPECT_NE(info.inputs.empty(), !draws) << info.name;
    EXPECT_FALSE(info.outputs.empty()) << info.name;
    for (const AttributeRule& rule : info.rules)
      EXPECT_TRUE(std::any_of(info.attributes.begin(), info.attributes.end(),
                              [&](const OperatorAttribute& it) { return it.name == rule.attribute; }))
          << info.name << "." << rule.attribute;
  }
}

}  // namespace
}  // namespace deputy::host
