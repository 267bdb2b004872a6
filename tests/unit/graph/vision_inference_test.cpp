// Inference of the operators of vision, sound and attention: what is known of outputs whose inputs are partly known.
#include <gtest/gtest.h>

#include "unit/graph/infer_one.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

Operand KnownScales(const std::vector<float>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return {{DType::kFloat32, true, shape},
          Tensor::FromValues<float>(DType::kFloat32, shape, std::span<const float>(values)).value()};
}

TEST(InferResize, ASymbolStaysWhereTheScaleIsOne) {
  const PrimitiveBuilder resize("", "Resize", 13);
  EXPECT_EQ(InferDims(resize, {Typed({kN, 3, 5, kUnknownDim}), LeftOut(), KnownScales({1, 1, 2.5f, 2})}),
            (Dims{kN, 3, 12, kUnknownDim}));
}

TEST(InferCrop, ASymbolStaysWhereNothingIsCutOff) {
  const PrimitiveBuilder crop = PrimitiveBuilder("", "Crop", 1).Set("border", Dims{0, 1, 0, 2});
  EXPECT_EQ(InferDims(crop, {Typed({kN, 3, 8, kN})}), (Dims{kN, 3, 5, kN}));
  EXPECT_EQ(InferDims(crop, {Typed({kN, 3, kN, 8})}), (Dims{kN, 3, kUnknownDim, 8}));
}

TEST(InferCrop, ASizeNeedsNoInputExtents) {
  const PrimitiveBuilder crop =
      PrimitiveBuilder("", "Crop", 1).Set("border", Dims{1, 1, 0, 0}).Set("scale", Dims{5, 6});
  EXPECT_EQ(InferDims(crop, {Typed({kN, 3, kUnknownDim, kN})}), (Dims{kN, 3, 5, 6}));
}

TEST(InferResize, SizesNeedNoInputExtents) {
  EXPECT_EQ(InferDims(PrimitiveBuilder("", "Resize", 13),
                      {Typed({kN, 3, kUnknownDim, 8}), LeftOut(), LeftOut(), Known({1, 3, 10, 20})}),
            (Dims{1, 3, 10, 20}));
}

TEST(InferResize, SizesOfSomeAxesLeaveTheOthers) {
  const PrimitiveBuilder resize = PrimitiveBuilder("", "Resize", 18).Set("axes", Dims{2, 3});
  EXPECT_EQ(InferDims(resize, {Typed({kN, 3, 4, 8}), LeftOut(), LeftOut(), Known({10, 20})}), (Dims{kN, 3, 10, 20}));
}

TEST(InferResize, ScalesThatAreNotKnownLeaveTheRank) {
  EXPECT_EQ(InferDims(PrimitiveBuilder("", "Resize", 11), {Typed({1, 3, 4, 8}), Typed({0}), Typed({4})}),
            (Dims{kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim}));
}

TEST(InferResize, ScalesAndSizesAreAnError) {
  const PrimitiveBuilder resize("", "Resize", 13);
  const std::string both = "scales and sizes are both given, expected one of them";
  EXPECT_EQ(InferError(resize, {Typed({4}), LeftOut(), KnownScales({2}), Known({8})}), both);
  EXPECT_EQ(InferError(resize, {Typed({4}), LeftOut(), Typed({1}), Typed({1}, DType::kInt64)}), both);
  EXPECT_EQ(InferDims(resize, {Typed({4}), LeftOut(), KnownScales({}), Known({8})}), (Dims{8}));
  EXPECT_EQ(InferDims(resize, {Typed({4}), LeftOut(), KnownScales({2}), Typed({0}, DType::kInt64)}), (Dims{8}));
}

TEST(InferResize, NeitherScalesNorSizesIsAnError) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Resize", 13), {Typed({1, 3}), LeftOut(), LeftOut()}),
            "scales or sizes is required");
}

TEST(InferResize, ExtentsBeyondReasonAreRefused) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Resize", 13), {Typed({4}), LeftOut(), KnownScales({1e30f})}),
            "an extent of 4 resized by 1e+30 is too large");
}

TEST(InferQuantizeLinear, TheZeroPointNamesTheType) {
  const PrimitiveBuilder quantize("", "QuantizeLinear", 21);
  EXPECT_EQ(Infer(quantize, {Typed({kN, 2}), Typed({}), Typed({}, DType::kInt16)})[0].dtype, DType::kInt16);
  EXPECT_EQ(Infer(quantize, {Typed({kN, 2}), Typed({})})[0].dtype, DType::kUint8);
  const PrimitiveBuilder named = PrimitiveBuilder(quantize).Set("output_dtype", int64_t{3});
  EXPECT_EQ(Infer(named, {Typed({kN, 2}), Typed({})})[0].dtype, DType::kInt8);
}

TEST(InferQuantizeLinear, TypesUnknownHereAreNotSupported) {
  const PrimitiveBuilder quantize = PrimitiveBuilder("", "QuantizeLinear", 21).Set("output_dtype", int64_t{14});
  EXPECT_EQ(TryInfer(quantize, {Typed({2}), Typed({})}).status().code(), StatusCode::kNotSupported);
}

TEST(InferQLinearConv, WindowsAreThoseOfConv) {
  const PrimitiveBuilder convolution = PrimitiveBuilder("", "QLinearConv", 10).Set("pads", Dims{1, 1, 1, 1});
  const Operand byte = Typed({}, DType::kUint8), scale = Typed({});
  const ValueType type = Infer(convolution, {Typed({kN, 3, 8, 8}, DType::kUint8), scale, byte,
                                             Typed({16, 3, 3, 3}, DType::kInt8), scale, byte, scale, byte})[0];
  EXPECT_EQ(type.dims, (Dims{kN, 16, 8, 8}));
  EXPECT_EQ(type.dtype, DType::kUint8);
}

TEST(InferEinsum, LabelsCarryTheirExtents) {
  const PrimitiveBuilder einsum = PrimitiveBuilder("", "Einsum", 12).Set("equation", std::string("b...i,ij->...bj"));
  EXPECT_EQ(InferDims(einsum, {Typed({kN, 7, kUnknownDim}), Typed({4, 5})}), (Dims{7, kN, 5}));
}

TEST(InferGridSample, ExtentsAreThoseOfTheGrid) {
  EXPECT_EQ(InferDims(PrimitiveBuilder("", "GridSample", 20), {Typed({kN, 3, 4, 4}), Typed({kN, 10, 20, 2})}),
            (Dims{kN, 3, 10, 20}));
}

TEST(InferSTFT, FramesOfAKnownSignal) {
  EXPECT_EQ(InferDims(PrimitiveBuilder("", "STFT", 17), {Typed({kN, 100, 1}), KnownScalar<int64_t>(DType::kInt64, 20),
                                                         LeftOut(), KnownScalar<int64_t>(DType::kInt64, 40)}),
            (Dims{kN, 4, 21, 2}));
}

TEST(InferAttention, SoftmaxPrecisionIsAnElementTypeOfFloats) {
  const std::vector<Operand> operands(3, Typed({2, 4, 6, 8}));
  for (const int64_t number : {0, 1, 10, 11, 16})
    EXPECT_EQ(InferError(PrimitiveBuilder("", "Attention", 23).Set("softmax_precision", number), operands), "");
  for (const int64_t number : {-1, 2, 17, 27, 99})
    EXPECT_EQ(InferError(PrimitiveBuilder("", "Attention", 23).Set("softmax_precision", number), operands),
              "softmax_precision must be 1 (float32), 10 (float16), 11 (float64) or 16 (bfloat16), got " +
                  std::to_string(number));
}

TEST(InferAttention, PastKeysLengthenThePresentOnes) {
  const std::vector<ValueType> types = Infer(PrimitiveBuilder("", "Attention", 23),
                                             {Typed({kN, 8, 1, 16}), Typed({kN, 2, 1, 16}), Typed({kN, 2, 1, 32}),
                                              LeftOut(), Typed({kN, 2, 9, 16}), Typed({kN, 2, 9, 32})},
                                             3);
  EXPECT_EQ(types[0].dims, (Dims{kN, 8, 1, 32}));
  EXPECT_EQ(types[1].dims, (Dims{kN, 2, 10, 16}));
  EXPECT_EQ(types[2].dims, (Dims{kN, 2, 10, 32}));
}

TEST(InferGroupNormalization, GroupsDivideTheChannels) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "GroupNormalization", 21).Set("num_groups", int64_t{3});
  EXPECT_EQ(InferError(builder, {Typed({1, 4, 2}), Typed({4}), Typed({4})}),
            "4 channels are not divisible by num_groups (3)");
}

TEST(InferCol2Im, MoreImageExtentsThanATensorMayHaveAreRefused) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Col2Im", 18),
                       {Typed({1, 4, 4}), Typed({int64_t{1} << 40}, DType::kInt64), Typed({2}, DType::kInt64)}),
            "image_shape has 1099511627776 elements, expected at most 64");
}

}  // namespace
}  // namespace deputy::host
