#include <gtest/gtest.h>

#include "unit/graph/infer_one.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

PrimitiveBuilder Conv() { return PrimitiveBuilder("", "Conv", 11); }
PrimitiveBuilder ConvTranspose() { return PrimitiveBuilder("", "ConvTranspose", 11); }
PrimitiveBuilder MatMul() { return PrimitiveBuilder("", "MatMul", 13); }
PrimitiveBuilder Gemm() { return PrimitiveBuilder("", "Gemm", 13); }

TEST(ConvInference, KeepsTheSymbolOfTheBatch) {
  EXPECT_EQ(Infer(Conv(), {Typed({kN, 3, 8, 8}), Typed({16, 3, 3, 3})})[0].dims, (Dims{kN, 16, 6, 6}));
}

TEST(ConvInference, UnknownExtentStaysUnknown) {
  EXPECT_EQ(Infer(Conv(), {Typed({1, 3, kUnknownDim, 8}), Typed({16, 3, 3, 3})})[0].dims,
            (Dims{1, 16, kUnknownDim, 6}));
}

TEST(ConvInference, SymbolSurvivesPaddingThatKeepsTheExtent) {
  EXPECT_EQ(Infer(Conv().Set("pads", Dims{1, 1}), {Typed({1, 3, kN}), Typed({4, 3, 3})})[0].dims, (Dims{1, 4, kN}));
}

TEST(ConvInference, SymbolDoesNotSurviveAStride) {
  EXPECT_EQ(
      Infer(Conv().Set("pads", Dims{1, 1}).Set("strides", Dims{2}), {Typed({1, 3, kN}), Typed({4, 3, 3})})[0].dims,
      (Dims{1, 4, kUnknownDim}));
}

TEST(ConvInference, SymbolSurvivesPaddingOfTheDilatedKernelOnly) {
  const auto last = [](int64_t pad) {
    const PrimitiveBuilder dilated = Conv().Set("dilations", Dims{2}).Set("pads", Dims{pad, pad});
    return Infer(dilated, {Typed({1, 3, kN}), Typed({4, 3, 3})})[0].dims[2];
  };
  EXPECT_EQ(last(2), kN);
  EXPECT_EQ(last(1), kUnknownDim);
}

TEST(ConvInference, WeightsAloneGiveRankAndChannels) {
  EXPECT_EQ(Infer(Conv(), {Unranked(), Typed({16, 3, 3, 3})})[0].dims,
            (Dims{kUnknownDim, 16, kUnknownDim, kUnknownDim}));
}

TEST(ConvInference, ChannelsThatDoNotFitAreNamed) {
  const auto types = TryInfer(Conv(), {Typed({1, 3, 8, 8}), Typed({16, 4, 3, 3})});
  ASSERT_FALSE(types.ok());
  EXPECT_EQ(types.status().message(), "weights have 4 input channels per group (1 groups), input has 3");
}

TEST(ConvInference, KernelShapeThatContradictsTheWeightsIsRefused) {
  EXPECT_FALSE(TryInfer(Conv().Set("kernel_shape", Dims{5, 5}), {Typed({1, 3, 8, 8}), Typed({4, 3, 3, 3})}).ok());
}

TEST(ConvInference, BiasOfAnotherLengthIsRefused) {
  EXPECT_FALSE(TryInfer(Conv(), {Typed({1, 3, 8}), Typed({4, 3, 3}), Typed({5})}).ok());
}

TEST(ConvInference, WindowLargerThanTheInputNamesTheAxis) {
  const auto types = TryInfer(Conv(), {Typed({1, 3, 8, 2}), Typed({4, 3, 3, 3})});
  ASSERT_FALSE(types.ok());
  EXPECT_EQ(types.status().where(), "spatial axis 1");
  EXPECT_EQ(TryInfer(Conv(), {Typed({1, 3, 2, 8}), Typed({4, 3, 3, 3})}).status().where(), "spatial axis 0");
}

TEST(ConvInference, InputWithoutSpatialAxesIsRefused) {
  EXPECT_FALSE(TryInfer(Conv(), {Typed({1, 3}), Typed({4, 3})}).ok());
}

TEST(ConvTransposeInference, OutputShapeHoldsForUnknownInputs) {
  EXPECT_EQ(Infer(ConvTranspose().Set("strides", Dims{2}).Set("output_shape", Dims{9}),
                  {Typed({1, 4, kUnknownDim}), Typed({4, 3, 3})})[0]
                .dims,
            (Dims{1, 3, 9}));
}

TEST(MatMulInference, BatchesBroadcast) {
  EXPECT_EQ(Infer(MatMul(), {Typed({kN, 1, 2, 3}), Typed({5, 3, 4})})[0].dims, (Dims{kN, 5, 2, 4}));
}

TEST(MatMulInference, InnerExtentsThatDifferAreRefused) {
  EXPECT_FALSE(TryInfer(MatMul(), {Typed({2, 3}), Typed({4, 5})}).ok());
}

TEST(MatMulInference, ScalarIsRefused) { EXPECT_FALSE(TryInfer(MatMul(), {Typed({}), Typed({4, 5})}).ok()); }

TEST(GemmInference, TransposesBothInputs) {
  EXPECT_EQ(Infer(Gemm().Set("transA", int64_t{1}).Set("transB", int64_t{1}), {Typed({3, kN}), Typed({5, 3})})[0].dims,
            (Dims{kN, 5}));
}

TEST(GemmInference, CThatDoesNotBroadcastIsRefused) {
  EXPECT_FALSE(TryInfer(Gemm(), {Typed({2, 3}), Typed({3, 4}), Typed({3})}).ok());
}

TEST(GemmInference, CThatIsNotKnownYetMayFit) {
  EXPECT_EQ(Infer(Gemm(), {Typed({1, 3}), Typed({3, 4}), Typed({kN, kN})})[0].dims, (Dims{1, 4}));
}

TEST(GemmInference, CLargerThanTheProductIsRefused) {
  EXPECT_FALSE(TryInfer(Gemm(), {Typed({1, 3}), Typed({3, 4}), Typed({2, 4})}).ok());
}

TEST(BatchNormalizationInference, ParametersMustFitTheChannels) {
  const PrimitiveBuilder builder("", "BatchNormalization", 15);
  EXPECT_EQ(Infer(builder, {Typed({kN, 3, 4}), Typed({3}), Typed({3}), Typed({3}), Typed({3})})[0].dims,
            (Dims{kN, 3, 4}));
  EXPECT_FALSE(TryInfer(builder, {Typed({kN, 3, 4}), Typed({3}), Typed({3}), Typed({2}), Typed({3})}).ok());
}

TEST(LayerNormalizationInference, StatisticsHaveOnesFromTheAxisOn) {
  const auto types = Infer(PrimitiveBuilder("", "LayerNormalization", 17).Set("axis", int64_t{-2}),
                           {Typed({kN, 3, 4}, DType::kFloat16), Typed({3, 4}, DType::kFloat16)}, 3);
  EXPECT_EQ(types[0].dims, (Dims{kN, 3, 4}));
  EXPECT_EQ(types[1].dims, (Dims{kN, 1, 1}));
  EXPECT_EQ(types[2].dtype, DType::kFloat32);
}

TEST(LrnInference, SizeIsNeeded) {
  EXPECT_FALSE(TryInfer(PrimitiveBuilder("", "LRN", 13), {Typed({1, 3, 4, 4})}).ok());
}

TEST(PoolInference, IndicesHaveTheExtentsOfTheMaxima) {
  const auto types =
      Infer(PrimitiveBuilder("", "MaxPool", 12).Set("kernel_shape", Dims{2, 2}).Set("strides", Dims{2, 2}),
            {Typed({kN, 3, 8, 8})}, 2);
  EXPECT_EQ(types[0].dims, (Dims{kN, 3, 4, 4}));
  EXPECT_EQ(types[1].dims, (Dims{kN, 3, 4, 4}));
  EXPECT_EQ(types[1].dtype, DType::kInt64);
}

TEST(PoolInference, InputOfAnotherRankIsRefused) {
  EXPECT_FALSE(
      TryInfer(PrimitiveBuilder("", "AveragePool", 19).Set("kernel_shape", Dims{2, 2}), {Typed({1, 3, 8})}).ok());
}

TEST(PoolInference, KernelShapeIsNeeded) {
  EXPECT_FALSE(TryInfer(PrimitiveBuilder("", "AveragePool", 19), {Typed({1, 3, 8})}).ok());
}

// As the kernels and ONNX Runtime have it: division rounds towards zero.
TEST(PoolInference, WindowMayBeLessThanAStrideLargerThanTheInput) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    const auto pool = [&](int64_t kernel) {
      return TryInfer(PrimitiveBuilder("", op, 22).Set("kernel_shape", Dims{kernel}).Set("strides", Dims{2}),
                      {Typed({1, 3, 2})});
    };
    EXPECT_EQ(pool(3).value()[0].dims, (Dims{1, 3, 1})) << op;
    EXPECT_EQ(pool(5).value()[0].dims, (Dims{1, 3, 0})) << op;
    EXPECT_FALSE(pool(6).ok()) << op;
  }
}

TEST(ConvInference, WindowLargerThanTheInputIsRefused) {
  EXPECT_FALSE(TryInfer(Conv().Set("strides", Dims{2}), {Typed({1, 3, 2}), Typed({4, 3, 3})}).ok());
}

TEST(GlobalPoolInference, SpatialExtentsBecomeOne) {
  EXPECT_EQ(Infer(PrimitiveBuilder("", "GlobalAveragePool", 1), {Typed({kN, 3, kUnknownDim, 8})})[0].dims,
            (Dims{kN, 3, 1, 1}));
}

TEST(RecurrentInference, LayoutZeroPutsTheStepsFirst) {
  const auto types =
      Infer(PrimitiveBuilder("", "LSTM", 14).Set("hidden_size", int64_t{5}).Set("direction", "bidirectional"),
            {Typed({kN, 3, 4}), Typed({2, 20, 4}), Typed({2, 20, 5})}, 3);
  EXPECT_EQ(types[0].dims, (Dims{kN, 2, 3, 5}));
  EXPECT_EQ(types[1].dims, (Dims{2, 3, 5}));
  EXPECT_EQ(types[2].dims, (Dims{2, 3, 5}));
}

TEST(RecurrentInference, LayoutOnePutsTheBatchFirst) {
  const auto types = Infer(PrimitiveBuilder("", "GRU", 14).Set("hidden_size", int64_t{5}).Set("layout", int64_t{1}),
                           {Typed({3, kN, 4}), Typed({1, 15, 4}), Typed({1, 15, 5})}, 2);
  EXPECT_EQ(types[0].dims, (Dims{3, kN, 1, 5}));
  EXPECT_EQ(types[1].dims, (Dims{3, 1, 5}));
}

TEST(RecurrentInference, WeightsOfBytesHaveTheGatesLast) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "DynamicQuantizeLSTM", 1);
  const auto operands = [](const Dims& w, const Dims& r, const Dims& r_zero_point) {
    std::vector<Operand> made = {Typed({kN, 3, 4}), Typed(w, DType::kUint8), Typed(r, DType::kUint8)};
    made.resize(8, LeftOut());
    const std::vector<Operand> scales = {Typed({1}), Typed({1}, DType::kUint8), Typed({1, 20}),
                                         Typed(r_zero_point, DType::kUint8)};
    made.insert(made.end(), scales.begin(), scales.end());
    return made;
  };
  const auto types = Infer(builder, operands({1, 4, 20}, {1, 5, 20}, {1}), 3);
  EXPECT_EQ(types[0].dims, (Dims{kN, 1, 3, 5}));
  EXPECT_EQ(types[2].dims, (Dims{1, 3, 5}));
  EXPECT_FALSE(TryInfer(builder, operands({1, 20, 4}, {1, 20, 5}, {1}), 3).ok());
  EXPECT_EQ(InferError(builder, operands({1, 4, 20}, {1, 5, 20}, {1, 5}), 3),
            "input 'R_zero_point' has shape [1,5], expected [1,20]");
  std::vector<Operand> without = operands({1, 4, 20}, {1, 5, 20}, {1});
  without.resize(8);
  EXPECT_EQ(InferError(builder, without, 3), "input 8 ('W_scale') is missing");
}

TEST(RecurrentInference, HiddenSizeMayComeFromTheWeights) {
  EXPECT_EQ(Infer(PrimitiveBuilder("", "RNN", 14), {Typed({7, 3, 4}), Typed({1, 5, 4}), Typed({1, 5, 5})}, 2)[1].dims,
            (Dims{1, 3, 5}));
}

TEST(RecurrentInference, WeightsForAnotherInputAreRefused) {
  EXPECT_FALSE(
      TryInfer(PrimitiveBuilder("", "RNN", 14), {Typed({7, 3, 4}), Typed({1, 5, 6}), Typed({1, 5, 5})}, 2).ok());
}

TEST(InferBatchNormalization, StatisticsHaveTheDTypesOfThoseThatTheyAreMixedWith) {
  const Operand vector = Typed({3}), wide = Typed({3}, DType::kFloat64);
  const std::vector<ValueType> types =
      Infer(PrimitiveBuilder("", "BatchNormalization", 15).Set("training_mode", int64_t{1}),
            {Typed({2, 3}), vector, vector, vector, wide}, 3);
  EXPECT_EQ(types[1].dtype, DType::kFloat32);
  EXPECT_EQ(types[2].dtype, DType::kFloat64);
}

}  // namespace
}  // namespace deputy::host
