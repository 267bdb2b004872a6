// The operators of com.microsoft on integers of 8 bits, each as a node would run. Expected numbers are those of ONNX
// Runtime 1.31.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

const Tensor kNoInput;

TEST(MicrosoftQLinearAdd, AddsWhatBothStandFor) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearAdd", 1);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearAdd, builder,
              {TensorOf<uint8_t>({2, 3}, {11, 48, 85, 122, 159, 196}), TensorOf<float>({}, {0.05f}),
               TensorOf<uint8_t>({}, {100}), TensorOf<uint8_t>({3}, {11, 82, 153}), TensorOf<float>({}, {0.1f}),
               TensorOf<uint8_t>({}, {128}), TensorOf<float>({}, {0.2f}), TensorOf<uint8_t>({}, {10})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{0, 0, 19, 0, 2, 46}));
}

// Steps are half as large as those of the result, whose zero point is odd: 0.5 + 43 is rounded to 44, 1.5 + 43 to 44.
TEST(MicrosoftQLinearAdd, HalvesGoToTheEvenInteger) {
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearAdd, PrimitiveBuilder("com.microsoft", "QLinearAdd", 1),
              {TensorOf<uint8_t>({4}, {6, 7, 8, 10}), TensorOf<float>({}, {0.5f}), TensorOf<uint8_t>({}, {7}),
               TensorOf<uint8_t>({1}, {0}), TensorOf<float>({}, {0.5f}), TensorOf<uint8_t>({}, {0}),
               TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {43})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{42, 43, 44, 44}));
}

TEST(MicrosoftQLinearMul, HalvesGoToTheEvenInteger) {
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearMul, PrimitiveBuilder("com.microsoft", "QLinearMul", 1),
              {TensorOf<uint8_t>({4}, {6, 7, 8, 10}), TensorOf<float>({}, {0.5f}), TensorOf<uint8_t>({}, {7}),
               TensorOf<uint8_t>({1}, {1}), TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {0}),
               TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {43})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{42, 43, 44, 44}));
}

TEST(MicrosoftQLinearMul, SignedBytesMultiply) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearMul", 1);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearMul, builder,
              {TensorOf<int8_t>({2, 3}, {11, 48, 85, 122, -97, -60}), TensorOf<float>({}, {0.05f}),
               TensorOf<int8_t>({}, {-10}), TensorOf<int8_t>({2, 1}, {11, 82}), TensorOf<float>({}, {0.1f}),
               TensorOf<int8_t>({}, {12}), TensorOf<float>({}, {0.4f}), TensorOf<int8_t>({}, {1})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<int8_t>(out[0]), (std::vector<int8_t>{1, 0, 0, 117, -75, -43}));
}

TEST(MicrosoftQLinearSigmoid, IsATable) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearSigmoid", 1);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearSigmoid, builder,
              {TensorOf<uint8_t>({6}, {11, 48, 85, 122, 159, 196}), TensorOf<float>({}, {0.05f}),
               TensorOf<uint8_t>({}, {128}), TensorOf<float>({}, {0.00390625f}), TensorOf<uint8_t>({}, {0})});
  EXPECT_EQ(out[0].shape(), (Shape{6}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{1, 5, 27, 109, 211, 248}));
}

TEST(MicrosoftQLinearLeakyRelu, ScalesTheNegative) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearLeakyRelu", 1).Set("alpha", 0.25f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearLeakyRelu, builder,
              {TensorOf<int8_t>({6}, {11, 48, 85, 122, -97, -60}), TensorOf<float>({}, {0.05f}),
               TensorOf<int8_t>({}, {3}), TensorOf<float>({}, {0.04f}), TensorOf<int8_t>({}, {-5})});
  EXPECT_EQ(out[0].shape(), (Shape{6}));
  EXPECT_EQ(ValuesOf<int8_t>(out[0]), (std::vector<int8_t>{5, 51, 97, 127, -36, -25}));
}

TEST(MicrosoftQLinearSoftmax, AlongAnAxis) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "QLinearSoftmax", 1).Set("axis", int64_t{1}).Set("opset", int64_t{13});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearSoftmax, builder,
              {TensorOf<uint8_t>({2, 2, 2}, {11, 48, 85, 122, 159, 196, 233, 14}), TensorOf<float>({}, {0.02f}),
               TensorOf<uint8_t>({}, {128}), TensorOf<float>({}, {0.00390625f}), TensorOf<uint8_t>({}, {0})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{47, 47, 209, 209, 47, 249, 209, 7}));
}

TEST(MicrosoftQLinearSoftmax, OverAllBehindAnAxis) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "QLinearSoftmax", 1).Set("axis", int64_t{1}).Set("opset", int64_t{12});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearSoftmax, builder,
              {TensorOf<uint8_t>({2, 2, 2}, {11, 48, 85, 122, 159, 196, 233, 14}), TensorOf<float>({}, {0.02f}),
               TensorOf<uint8_t>({}, {128}), TensorOf<float>({}, {0.00390625f}), TensorOf<uint8_t>({}, {0})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{15, 32, 67, 141, 34, 71, 149, 2}));
}

TEST(MicrosoftQLinearConcat, PartsHaveRangesOfTheirOwn) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearConcat", 1).Set("axis", int64_t{1});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_QLinearConcat, builder,
      {TensorOf<float>({}, {0.1f}), TensorOf<uint8_t>({}, {20}), TensorOf<uint8_t>({2, 1}, {11, 48}),
       TensorOf<float>({}, {0.05f}), TensorOf<uint8_t>({}, {100}), TensorOf<uint8_t>({2, 2}, {11, 82, 153, 224}),
       TensorOf<float>({}, {0.2f}), TensorOf<uint8_t>({}, {128})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{0, 0, 0, 0, 70, 212}));
}

TEST(MicrosoftQLinearAveragePool, LeavesThePaddingOut) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearAveragePool", 1)
                                       .Set("kernel_shape", std::vector<int64_t>{2, 2})
                                       .Set("pads", std::vector<int64_t>{1, 1, 0, 0});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearAveragePool, builder,
              {TensorOf<uint8_t>({1, 1, 3, 3}, {11, 48, 85, 122, 159, 196, 233, 14, 51}), TensorOf<float>({}, {0.05f}),
               TensorOf<uint8_t>({}, {128}), TensorOf<float>({}, {0.05f}), TensorOf<uint8_t>({}, {100})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 3, 3}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{0, 2, 38, 38, 57, 94, 150, 104, 77}));
}

TEST(MicrosoftQLinearAveragePool, CountsThePadding) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearAveragePool", 1)
                                       .Set("kernel_shape", std::vector<int64_t>{2, 2})
                                       .Set("pads", std::vector<int64_t>{1, 1, 0, 0})
                                       .Set("count_include_pad", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearAveragePool, builder,
              {TensorOf<uint8_t>({1, 1, 3, 3}, {11, 48, 85, 122, 159, 196, 233, 14, 51}), TensorOf<float>({}, {0.05f}),
               TensorOf<uint8_t>({}, {128}), TensorOf<float>({}, {0.05f}), TensorOf<uint8_t>({}, {100})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 3, 3}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{71, 51, 69, 69, 57, 94, 125, 104, 77}));
}

// All taps count, as in ONNX Runtime.
TEST(MicrosoftQLinearAveragePool, WindowMayBeLargerThanTheInput) {
  for (const int64_t counted : {0, 1}) {
    const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearAveragePool", 1)
                                         .Set("kernel_shape", std::vector<int64_t>{2, 3})
                                         .Set("strides", std::vector<int64_t>{2, 2})
                                         .Set("count_include_pad", counted);
    const std::vector<Tensor> out =
        RunNode(MakeMicrosoft_QLinearAveragePool, builder,
                {TensorOf<uint8_t>({1, 1, 1, 2}, {60, 120}), TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {0}),
                 TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {0})});
    EXPECT_EQ(out[0].shape(), (Shape{1, 1, 1, 1}));
    EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{static_cast<uint8_t>(counted != 0 ? 30 : 90)}));
  }
}

TEST(MicrosoftQLinearAveragePool, ChannelsMayStandLast) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QLinearAveragePool", 1)
                                       .Set("kernel_shape", std::vector<int64_t>{2, 2})
                                       .Set("channels_last", int64_t{1});
  const std::vector<Tensor> out = RunNode(MakeMicrosoft_QLinearAveragePool, builder,
                                          {TensorOf<uint8_t>({1, 3, 3, 2}, {11, 48, 85, 122, 159, 196, 233, 14, 51, 88,
                                                                            125, 162, 199, 236, 17, 54, 91, 128}),
                                           TensorOf<float>({}, {0.05f}), TensorOf<uint8_t>({}, {128}),
                                           TensorOf<float>({}, {0.05f}), TensorOf<uint8_t>({}, {100})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{67, 40, 77, 114, 97, 70, 43, 80}));
}

TEST(MicrosoftQLinearGlobalAveragePool, ChannelsMayStandLast) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "QLinearGlobalAveragePool", 1).Set("channels_last", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearGlobalAveragePool, builder,
              {TensorOf<uint8_t>({1, 2, 2, 2}, {11, 48, 85, 122, 159, 196, 233, 14}), TensorOf<float>({}, {0.05f}),
               TensorOf<uint8_t>({}, {128}), TensorOf<float>({}, {0.05f}), TensorOf<uint8_t>({}, {100})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 1, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{94, 67}));
}

TEST(MicrosoftMatMulIntegerToFloat, ScalesEachColumn) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "MatMulIntegerToFloat", 1);
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_MatMulIntegerToFloat, builder,
      {TensorOf<uint8_t>({2, 3}, {11, 48, 85, 122, 159, 196}), TensorOf<int8_t>({3, 2}, {11, 82, -103, -32, 39, 110}),
       TensorOf<float>({}, {0.5f}), TensorOf<float>({2}, {0.25f, 0.5f}), TensorOf<uint8_t>({}, {128}),
       TensorOf<int8_t>({2}, {3, -4}), TensorOf<float>({2}, {1, -1})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  ExpectFloats(out[0], {750.5f, -3182, -109.75f, 1591});
}

// Weights, scales and zero points are constants, as in models, or come with each run.
std::vector<std::vector<size_t>> ConstantOrNot() { return {{}, {1, 2, 8, 9, 10, 11}}; }

TEST(MicrosoftDynamicQuantizeLSTM, BothDirectionsWithLengthsAndStates) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "DynamicQuantizeLSTM", 1)
                                       .Set("hidden_size", int64_t{1})
                                       .Set("direction", "bidirectional");
  const std::vector<Tensor> inputs = {
      TensorOf<float>({3, 2, 2},
                      {1.22f, 1.23f, 0.06f, -0.86f, -1.78f, -0.47f, -0.37f, -1.82f, -1.8f, 2.0f, 0.61f, -1.06f}),
      TensorOf<uint8_t>({2, 2, 4}, {72, 111, 67, 249, 45, 229, 204, 216, 29, 100, 160, 126, 170, 173, 169, 15}),
      TensorOf<uint8_t>({2, 1, 4}, {245, 142, 231, 69, 92, 225, 47, 16}),
      TensorOf<float>({2, 8}, {0.18f, 0.37f, -0.27f, 0.4f, 0.37f, -0.48f, 0.21f, -0.5f, 0, -0.06f, -0.3f, -0.18f, 0.31f,
                               -0.18f, -0.35f, 0.2f}),
      TensorOf<int32_t>({2}, {3, 2}),
      TensorOf<float>({2, 2, 1}, {0.5f, -0.25f, 0.75f, -1}),
      kNoInput,
      kNoInput,
      TensorOf<float>({2}, {0.01f, 0.02f}),
      TensorOf<uint8_t>({2}, {120, 130}),
      TensorOf<float>({2}, {0.015f, 0.01f}),
      TensorOf<uint8_t>({2}, {128, 100})};
  for (const std::vector<size_t>& constants : ConstantOrNot()) {
    const std::vector<Tensor> out =
        RunNode(MakeMicrosoft_DynamicQuantizeLSTM, builder, inputs, {.outputs = 3, .constants = constants});
    EXPECT_EQ(out[0].shape(), (Shape{3, 2, 2, 1}));
    ExpectFloats(out[0], {0.338265717f, -0.0888459831f, 0.182226256f, 0.11625322f, -0.207125679f, -0.0813289657f,
                          0.246085152f, 0.0224098898f, -0.500521779f, 0, -0.737552583f, 0});
    ExpectFloats(out[1], {-0.500521779f, -0.0813289657f, 0.182226256f, 0.11625322f});
    ExpectFloats(out[2], {-0.627292633f, -0.920847237f, 0.314878404f, 0.455190659f});
  }
}

TEST(MicrosoftDynamicQuantizeLSTM, SignedWeightsWithAScalePerColumn) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "DynamicQuantizeLSTM", 1).Set("hidden_size", int64_t{1});
  const Tensor zeros = TensorOf<int8_t>({1, 4}, {0, 0, 0, 0});
  const std::vector<Tensor> inputs = {TensorOf<float>({3, 1, 2}, {1.22f, 1.23f, -1.78f, -0.47f, -1.8f, 2.0f}),
                                      TensorOf<int8_t>({1, 2, 4}, {20, -14, -85, 76, 76, -68, -113, -47}),
                                      TensorOf<int8_t>({1, 1, 4}, {-91, 76, 5, 1}),
                                      kNoInput,
                                      kNoInput,
                                      kNoInput,
                                      kNoInput,
                                      kNoInput,
                                      TensorOf<float>({1, 4}, {0.01f, 0.02f, 0.005f, 0.015f}),
                                      zeros,
                                      TensorOf<float>({1, 4}, {0.015f, 0.01f, 0.01f, 0.02f}),
                                      zeros};
  for (const std::vector<size_t>& constants : ConstantOrNot()) {
    const std::vector<Tensor> out =
        RunNode(MakeMicrosoft_DynamicQuantizeLSTM, builder, inputs, {.outputs = 3, .constants = constants});
    ExpectFloats(out[0], {0.0409360267f, -0.019218836f, -0.0633130446f});
    ExpectFloats(out[2], {-0.774346113f});
  }
}

TEST(MicrosoftDynamicQuantizeLSTM, ScalesThatDoNotFitAreRefused) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "DynamicQuantizeLSTM", 1);
  const Tensor zero = TensorOf<uint8_t>({1}, {0}), scale = TensorOf<float>({1}, {1});
  std::vector<Tensor> inputs = {Tensor::Allocate(DType::kFloat32, {2, 1, 3}).value(),
                                Tensor::Allocate(DType::kUint8, {1, 3, 8}).value(),
                                Tensor::Allocate(DType::kUint8, {1, 2, 8}).value(),
                                kNoInput,
                                kNoInput,
                                kNoInput,
                                kNoInput,
                                kNoInput,
                                scale,
                                zero,
                                scale,
                                zero};
  ASSERT_TRUE(TryRunNode(MakeMicrosoft_DynamicQuantizeLSTM, builder, inputs).ok());
  for (const auto& [input, wrong] :
       std::vector<std::pair<size_t, Tensor>>{{8, TensorOf<float>({2}, {1, 1})},
                                              {8, TensorOf<float>({}, {1})},
                                              {9, TensorOf<uint8_t>({1, 7}, {0, 0, 0, 0, 0, 0, 0})},
                                              {11, TensorOf<int8_t>({1}, {0})},
                                              {10, kNoInput}}) {
    std::vector<Tensor> others = inputs;
    others[input] = wrong;
    EXPECT_FALSE(TryRunNode(MakeMicrosoft_DynamicQuantizeLSTM, builder, others).ok()) << "input " << input;
  }
}

TEST(MicrosoftDynamicQuantizeMatMul, QuantizesTheFirstFactorItself) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "DynamicQuantizeMatMul", 1);
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_DynamicQuantizeMatMul, builder,
      {TensorOf<float>({2, 3}, {0, 1.25f, 2.55f, 0.3f, 0.4f, 0}),
       TensorOf<int8_t>({3, 2}, {11, 82, -103, -32, 39, 110}), TensorOf<float>({}, {0.5f}), TensorOf<int8_t>({}, {3})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  ExpectFloats(out[0], {-20.35f, 114.549995f, -20, 4.85f});
}

TEST(MicrosoftQGemm, GivesFloatsWithoutAScaleForThem) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QGemm", 1)
                                       .Set("transA", int64_t{1})
                                       .Set("transB", int64_t{1})
                                       .Set("alpha", 0.5f);
  for (const std::vector<size_t>& constants : {std::vector<size_t>{}, {3, 5}}) {
    const std::vector<Tensor> out =
        RunNode(MakeMicrosoft_QGemm, builder,
                {TensorOf<uint8_t>({3, 2}, {11, 48, 85, 122, 159, 196}), TensorOf<float>({}, {0.5f}),
                 TensorOf<uint8_t>({}, {128}), TensorOf<int8_t>({2, 3}, {11, 82, -103, -32, 39, 110}),
                 TensorOf<float>({}, {0.25f}), TensorOf<int8_t>({}, {3}), TensorOf<int32_t>({2}, {100, -50})},
                {.constants = constants});
    EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
    ExpectFloats(out[0], {-469.9375f, 363.375f, -513.875f, 613.125f});
  }
}

TEST(MicrosoftQGemm, GivesBytesWithAScaleForThem) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QGemm", 1);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QGemm, builder,
              {TensorOf<uint8_t>({2, 3}, {11, 48, 85, 122, 159, 196}), TensorOf<float>({}, {0.5f}),
               TensorOf<uint8_t>({}, {128}), TensorOf<int8_t>({3, 2}, {11, 82, -103, -32, 39, 110}),
               TensorOf<float>({2}, {0.25f, 0.5f}), TensorOf<int8_t>({2}, {3, 0}), kNoInput, TensorOf<float>({}, {100}),
               TensorOf<uint8_t>({}, {128})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{135, 99, 127, 143}));
}

TEST(MicrosoftQuantizeLinear, ScalesAlongAnAxis) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QuantizeLinear", 1).Set("axis", int64_t{1});
  const std::vector<Tensor> out = RunNode(MakeMicrosoft_QuantizeLinear, builder,
                                          {TensorOf<float>({2, 3}, {-1.3f, 0.5f, 1.5f, 2.5f, 300, -300}),
                                           TensorOf<float>({3}, {0.5f, 1, 2}), TensorOf<uint8_t>({3}, {0, 128, 5})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{0, 128, 6, 5, 255, 0}));
}

TEST(MicrosoftDequantizeLinear, TakesBackTheZeroPoint) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "DequantizeLinear", 1);
  const std::vector<Tensor> out = RunNode(MakeMicrosoft_DequantizeLinear, builder,
                                          {TensorOf<uint8_t>({2, 3}, {11, 48, 85, 122, 159, 196}),
                                           TensorOf<float>({}, {0.5f}), TensorOf<uint8_t>({}, {128})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  ExpectFloats(out[0], {-58.5f, -40, -21.5f, -3, 15.5f, 34});
}

}  // namespace
}  // namespace deputy::host
