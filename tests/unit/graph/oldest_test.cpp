#include "graph/upgrade/oldest.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

// A node of these inputs' types; the definition that it is shown with.
int32_t Oldest(const PrimitiveBuilder& builder, const std::vector<DType>& inputs, size_t outputs = 1) {
  Graph graph;
  Node node;
  node.primitive = builder.Finish();
  for (const DType dtype : inputs) node.inputs.push_back(graph.AddValue("", {dtype, false, {}}));
  for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(graph.AddValue(""));
  return OldestEquivalent(graph, node);
}

constexpr DType kF32 = DType::kFloat32, kI64 = DType::kInt64, kI8 = DType::kInt8, kBf16 = DType::kBFloat16;

TEST(OldestEquivalent, FloatConvolutionIsTheFirst) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Conv", 22).Set("group", int64_t{1}), {kF32, kF32}), 1);
}

TEST(OldestEquivalent, BFloat16ConvolutionIsTheNewest) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Conv", 22), {kBf16, kBf16}), 22);
}

TEST(OldestEquivalent, AttributeHoldsItsDefinition) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "MaxPool", 22).Set("ceil_mode", int64_t{1}), {kF32}), 10);
}

TEST(OldestEquivalent, ElementTypeHoldsItsDefinition) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "MaxPool", 22), {kI8}), 12);
}

TEST(OldestEquivalent, SecondOutputOfMaxPoolHoldsItsDefinition) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "MaxPool", 12), {kF32}, 1), 1);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "MaxPool", 12), {kF32}, 2), 8);
}

TEST(OldestEquivalent, ChangedFormHoldsItsDefinition) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Clip", 13), {kF32, kF32, kF32}), 11);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Clip", 13), {kI8, kI8, kI8}), 12);
}

TEST(OldestEquivalent, NegativeAxisHoldsOpset11) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{1}), {kF32, kF32}), 1);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{-1}), {kF32, kF32}), 11);
}

TEST(OldestEquivalent, GatherIsOldOnlyWithIndicesKnownNotToBeNegative) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "Gather", 13).Finish();
  const Tensor indices = Tensor::FromValues<int64_t>(kI64, {2}, std::vector<int64_t>{0, 3}).value();
  node.inputs = {graph.AddValue("x", {kF32, false, {}}), graph.AddConstant("indices", indices)};
  node.outputs = {graph.AddValue("y")};
  EXPECT_EQ(OldestEquivalent(graph, node), 1);
  node.inputs[1] = graph.AddValue("computed", {kI64, false, {}});
  EXPECT_EQ(OldestEquivalent(graph, node), 11);
}

TEST(OldestEquivalent, GemmWithoutBiasHoldsOpset11) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Gemm", 13), {kF32, kF32}), 11);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Gemm", 13), {kF32, kF32, kF32}), 7);
}

TEST(OldestEquivalent, PadInputsAndModesHoldTheirDefinitions) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Pad", 23), {kF32, kI64, kF32, kI64}), 18);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Pad", 23).Set("mode", std::string("wrap")), {kF32, kI64}), 19);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Pad", 23), {kF32, kI64}), 11);
}

TEST(OldestEquivalent, BatchNormalizationWithoutTrainingMeansWhatItMeantBefore) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "BatchNormalization", 15), {kF32, kF32, kF32, kF32, kF32}), 7);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "BatchNormalization", 15).Set("training_mode", int64_t{1}),
                   {kF32, kF32, kF32, kF32, kF32}, 3),
            14);
}

TEST(OldestEquivalent, UnknownTypeStaysWhereItIs) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Relu", 14), {DType::kUndefined}), 14);
}

TEST(OldestEquivalent, UnknownOperatorKeepsItsVersion) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("vendor.example", "Magic", 3), {kF32}), 3);
}

}  // namespace
}  // namespace deputy::host
