#include <gtest/gtest.h>

#include "graph/upgrade/upgrade.hpp"

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

TEST(OldestEquivalent, StorageTypesHoldTheOpsetThatTheyCameWith) {
  const auto to = [](DType dtype) { return PrimitiveBuilder("", "Cast", 25).Set("to", static_cast<int64_t>(dtype)); };
  EXPECT_EQ(Oldest(to(DType::kInt64), {kF32}), 6);
  EXPECT_EQ(Oldest(to(DType::kFloat8E5M2), {kF32}), 19);
  EXPECT_EQ(Oldest(to(DType::kInt4), {kF32}), 21);
  EXPECT_EQ(Oldest(to(DType::kInt2), {kF32}), 25);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "CastLike", 25), {kF32, DType::kUint4}), 21);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "QuantizeLinear", 25), {kF32, kF32, DType::kInt4}), 21);
}

// What opsets 24 to 28 added, where a delegate that was built before must not get it.
TEST(OldestEquivalent, NewFormsHoldTheirDefinitions) {
  const auto attention = [](int64_t window, std::vector<DType> more) {
    std::vector<DType> inputs = {kF32, kF32, kF32};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return Oldest(PrimitiveBuilder("", "Attention", 25).Set("left_window_size", window), inputs);
  };
  EXPECT_EQ(attention(-1, {}), 23);
  EXPECT_EQ(attention(-1, {kF32}), 24) << "a mask of unknown extents may be one of a single key";
  EXPECT_EQ(attention(-1, {kF32, kF32, kF32, kI64}), 24);
  EXPECT_EQ(attention(2, {}), 25);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Mod", 28), {kF32, kF32}), 28);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Mod", 28).Set("fmod", int64_t{1}), {kF32, kF32}), 10);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Mod", 28), {kI64, kI64}), 10);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "BitShift", 28), {kI64, kI64}), 28);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "BitShift", 28), {DType::kUint8, DType::kUint8}), 11);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "SpaceToDepth", 28).Set("mode", std::string("CRD")), {kF32}), 28);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "SpaceToDepth", 28).Set("mode", std::string("DCR")), {kF32}), 1);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "OneHot", 28), {kI64, kI64, kBf16}), 28);
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

TEST(OldestEquivalent, AttributeThatSaysItsDefaultHoldsNothing) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "MaxPool", 22)
                       .Set("ceil_mode", int64_t{0})
                       .Set("storage_order", int64_t{0})
                       .Set("dilations", Dims{1, 1}),
                   {kF32}),
            1);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "MaxPool", 22).Set("dilations", Dims{1, 2}), {kF32}), 10);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Reshape", 21).Set("allowzero", int64_t{0}), {kF32, kI64}), 5);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Reshape", 21).Set("allowzero", int64_t{1}), {kF32, kI64}), 14);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "ScatterND", 18).Set("reduction", std::string("none")), {kF32, kI64, kF32}),
            11);
}

TEST(OldestEquivalent, EndOfAShapeHasNoDefault) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Shape", 21).Set("end", int64_t{0}), {kF32}), 15);
}

TEST(OldestEquivalent, SoftmaxOverTheLastAxisIsOld) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    EXPECT_EQ(Oldest(PrimitiveBuilder("", op, 13).Set("axis", int64_t{-1}), {kF32}), 11) << op;
    EXPECT_EQ(Oldest(PrimitiveBuilder("", op, 13).Set("axis", int64_t{1}), {kF32}), 13) << op;
    EXPECT_EQ(Oldest(PrimitiveBuilder("", op, 13), {kF32}), 13) << op << " without an axis: its default changed";
  }
}

TEST(OldestEquivalent, WithoutTheInputThatCameTheFormIsOld) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "ReduceMean", 18), {kF32}), 1);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "ReduceMean", 18), {kF32, kI64}), 18);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "ReduceMean", 18).Set("noop_with_empty_axes", int64_t{1}), {kF32}), 18);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Squeeze", 13), {kF32}), 1);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Split", 13), {kF32}, 2), 2);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Split", 18).Set("num_outputs", int64_t{2}), {kF32}, 2), 18);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Clip", 13), {kF32}), 6);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Dropout", 13), {kF32}), 7);
}

TEST(OldestEquivalent, PowerOfOneTypeIsOld) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Pow", 15), {kF32, kF32}), 7);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Pow", 15), {kF32, kI64}), 12);
}

TEST(OldestEquivalent, ParametersOfAnotherTypeHoldBatchNormalization) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "BatchNormalization", 15), {DType::kFloat16, kF32, kF32, kF32, kF32}), 15);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "BatchNormalization", 15),
                   {DType::kFloat16, DType::kFloat16, DType::kFloat16, kF32, kF32}),
            14);
}

TEST(OldestEquivalent, UnknownTypeStaysWhereItIs) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "Relu", 14), {DType::kUndefined}), 14);
}

TEST(OldestEquivalent, UnknownOperatorKeepsItsVersion) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("vendor.example", "Magic", 3), {kF32}), 3);
}

TEST(OldestEquivalent, ResizeWithoutARegionIsOfOpset13) {
  const PrimitiveBuilder resize("", "Resize", 19);
  EXPECT_EQ(Oldest(resize, {kF32, kF32, kF32}), 11);
  EXPECT_EQ(Oldest(resize, {kF32, kF32}), 13);
  EXPECT_EQ(Oldest(PrimitiveBuilder(resize).Set("antialias", int64_t{1}), {kF32, kF32, kF32}), 18);
  EXPECT_EQ(Oldest(PrimitiveBuilder(resize).Set("coordinate_transformation_mode", std::string("half_pixel_symmetric")),
                   {kF32, kF32, kF32}),
            19);
}

TEST(OldestEquivalent, OneScaleIsOfOpset10AndScalesOfAnAxisOf13) {
  const auto oldest = [](Dims scale_dims, DType scale_type) {
    Graph graph;
    Node node;
    node.primitive = PrimitiveBuilder("", "QuantizeLinear", 23).Finish();
    node.inputs = {graph.AddValue("", {kF32, true, {2, 3}}), graph.AddValue("", {scale_type, true, scale_dims}),
                   graph.AddValue("", {kI8, true, scale_dims})};
    node.outputs = {graph.AddValue("")};
    return OldestEquivalent(graph, node);
  };
  EXPECT_EQ(oldest({}, kF32), 10);
  EXPECT_EQ(oldest({3}, kF32), 13);
  EXPECT_EQ(oldest({}, DType::kFloat16), 19);
}

TEST(OldestEquivalent, GridSampleHoldsTheNamesOfItsModes) {
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "GridSample", 22), {kF32, kF32}), 20);
  EXPECT_EQ(Oldest(PrimitiveBuilder("", "GridSample", 16), {kF32, kF32}), 16);
}

}  // namespace
}  // namespace deputy::host
