// The operators of com.microsoft on floats, but for attention, each as a node would run. Expected numbers are those of
// ONNX Runtime 1.31.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

const Tensor kNoInput;

TEST(MicrosoftBiasGelu, AddsTheBiasFirst) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "BiasGelu", 1);
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_BiasGelu, builder,
      {TensorOf<float>({2, 3}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}), TensorOf<float>({3}, {0.5f, -1, 0})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  ExpectFloats(out[0], {-0.16997051f, -0.15426877f, -0.15426877f, 1.6798965f, -0.16997051f, -0.16997051f});
}

TEST(MicrosoftFastGelu, IsApproximatedByTanh) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "FastGelu", 1);
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_FastGelu, builder,
      {TensorOf<float>({2, 3}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}), TensorOf<float>({3}, {0.5f, -1, 0})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  ExpectFloats(out[0], {-0.17003945f, -0.154286f, -0.154286f, 1.6797954f, -0.17003945f, -0.17003945f});
}

TEST(MicrosoftFastGelu, NeedsNoBias) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "FastGelu", 1);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_FastGelu, builder, {TensorOf<float>({4}, {-1.25f, 0.5f, -0.5f, 1.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{4}));
  ExpectFloats(out[0], {-0.13228577f, 0.345714f, -0.154286f, 1.1177142f});
}

TEST(MicrosoftGelu, IsExact) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Gelu", 1);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_Gelu, builder, {TensorOf<float>({4}, {-1.25f, 0.5f, -0.5f, 1.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{4}));
  ExpectFloats(out[0], {-0.13206221f, 0.34573123f, -0.15426877f, 1.1179378f});
}

TEST(MicrosoftQuickGelu, HasAFactorOfItsOwn) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QuickGelu", 1).Set("alpha", 0.5f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QuickGelu, builder, {TensorOf<float>({4}, {-1.25f, 0.5f, -0.5f, 1.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{4}));
  ExpectFloats(out[0], {-0.43580645f, 0.28108823f, -0.21891175f, 0.81419355f});
}

TEST(MicrosoftFusedMatMul, TurnsBothFactorsAndScales) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "FusedMatMul", 1)
                                       .Set("transA", int64_t{1})
                                       .Set("transB", int64_t{1})
                                       .Set("alpha", 0.5f);
  const std::vector<Tensor> out = RunNode(MakeMicrosoft_FusedMatMul, builder,
                                          {TensorOf<float>({3, 2}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
                                           TensorOf<float>({2, 3}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  ExpectFloats(out[0], {0.9375f, -0.15625f, -0.78125f, 0.75f});
}

TEST(MicrosoftFusedMatMul, TurnsBatches) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "FusedMatMul", 1).Set("transBatchA", int64_t{1});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_FusedMatMul, builder,
      {TensorOf<float>({2, 2, 3}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f, -0.25f, -1.25f}),
       TensorOf<float>({2, 3, 2}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2, 2}));
  ExpectFloats(out[0], {1.6875f, 0.125f, -2.25f, 0.5f, 0.875f, -0.25f, 0.125f, 1.25f});
}

TEST(MicrosoftTransposeMatMul, TurnsTheSecondFactor) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "TransposeMatMul", 1).Set("transB", int64_t{1});
  const std::vector<Tensor> out = RunNode(MakeMicrosoft_TransposeMatMul, builder,
                                          {TensorOf<float>({2, 3}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
                                           TensorOf<float>({2, 3}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  ExpectFloats(out[0], {0.9375f, 1.0625f, -2.5f, 0.3125f});
}

TEST(MicrosoftFusedGemm, EndsWithItsActivation) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "FusedGemm", 1)
                                       .Set("activation", "LeakyRelu")
                                       .Set("activation_alpha", 0.25f)
                                       .Set("beta", 2.0f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_FusedGemm, builder,
              {TensorOf<float>({2, 3}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
               TensorOf<float>({3, 2}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f}), TensorOf<float>({2}, {0.5f, -0.5f})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  ExpectFloats(out[0], {2.6875f, -0.21875f, -0.25f, -0.171875f});
}

TEST(MicrosoftFusedConv, AddsZBeforeTheActivation) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "FusedConv", 1).Set("activation", "Relu");
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_FusedConv, builder,
              {TensorOf<float>({1, 1, 3, 3}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1}),
               TensorOf<float>({1, 1, 2, 2}, {-1.25f, 0, 1.25f, -0.25f}), TensorOf<float>({1}, {0.5f}),
               TensorOf<float>({1, 1, 2, 2}, {-1.25f, -0.5f, 0.25f, 1})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 2, 2}));
  ExpectFloats(out[0], {2.3125f, 0, 0.4375f, 1.4375f});
}

TEST(MicrosoftFusedConv, ClipsToItsParameters) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "FusedConv", 1)
                                       .Set("activation", "Clip")
                                       .Set("activation_params", std::vector<float>{-0.5f, 1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_FusedConv, builder,
              {TensorOf<float>({1, 1, 3, 3}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1}),
               TensorOf<float>({1, 1, 2, 2}, {-1.25f, 0, 1.25f, -0.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 2, 2}));
  ExpectFloats(out[0], {1, -0.125f, -0.3125f, -0.0625f});
}

TEST(MicrosoftSkipLayerNormalization, NormalizesTheSumAndShowsIt) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "SkipLayerNormalization", 1).Set("epsilon", 0.00001f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_SkipLayerNormalization, builder,
              {TensorOf<float>({1, 2, 4}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0}),
               TensorOf<float>({1, 2, 4}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f}),
               TensorOf<float>({4}, {1, 2, 0.5f, 1}), TensorOf<float>({4}, {0, 1, 0, -1}),
               TensorOf<float>({4}, {0.25f, 0, 0, 1})},
              {.outputs = 4});
  ExpectFloats(out[0],
               {-1.2363814f, 0.80978745f, -0.11095731f, 0.5534023f, -0.786664f, -1.3137176f, 0.34705764f, 0.24940753f});
  ExpectFloats(out[3], {-2.25f, 0, -0.25f, 3.25f, -0.5f, -1, 1.5f, 2.25f});
}

TEST(MicrosoftSkipLayerNormalization, BroadcastsASkipWithoutBatches) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "SkipLayerNormalization", 1).Set("epsilon", 0.00001f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_SkipLayerNormalization, builder,
              {TensorOf<float>({2, 1, 4}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0}),
               TensorOf<float>({1, 4}, {-1.25f, -0.5f, 0.25f, 1}), TensorOf<float>({4}, {1, 2, 0.5f, 1})},
              {.outputs = 4});
  ExpectFloats(out[0],
               {-1.4122564f, 0.14865857f, -0.03716464f, 1.4122564f, -0.8834487f, -2.2086217f, 0.55215544f, 0.8834487f});
  ExpectFloats(out[3], {-2.5f, 0, -0.25f, 2.25f, -1, -1.25f, 1.25f, 1});
}

TEST(MicrosoftSkipSimplifiedLayerNormalization, DividesByTheRootOfTheMeanSquare) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "SkipSimplifiedLayerNormalization", 1).Set("epsilon", 0.00001f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_SkipSimplifiedLayerNormalization, builder,
              {TensorOf<float>({1, 2, 4}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0}),
               TensorOf<float>({1, 2, 4}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f}),
               TensorOf<float>({4}, {1, 2, 0.5f, 1})},
              {.outputs = 4});
  ExpectFloats(out[0], {-1.482496f, 0, -0.0741248f, 1.3342464f, -0.64699423f, -1.725318f, 0.64699423f, 1.0783237f});
  ExpectFloats(out[3], {-2.5f, 0, -0.25f, 2.25f, -0.75f, -1, 1.5f, 1.25f});
}

TEST(SimplifiedLayerNormalization, IsAnRmsNormalization) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "SimplifiedLayerNormalization", 1).Set("epsilon", 0.00001f);
  const std::vector<Tensor> out = RunNode(MakeSimplifiedLayerNormalization, builder,
                                          {TensorOf<float>({2, 4}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0}),
                                           TensorOf<float>({4}, {1, 2, 0.5f, 1})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 4}));
  ExpectFloats(out[0], {-1.3130571f, 1.0504457f, -0.26261142f, 1.3130571f, 0.39222744f, -2.3533645f, 0.7844549f, 0});
}

TEST(MicrosoftEmbedLayerNormalization, SumsThreeTables) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "EmbedLayerNormalization", 1).Set("epsilon", 0.00001f);
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_EmbedLayerNormalization, builder,
      {TensorOf<int32_t>({1, 2}, {1, 0}), TensorOf<int32_t>({1, 2}, {0, 1}),
       TensorOf<float>({2, 4}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0}),
       TensorOf<float>({2, 4}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f}),
       TensorOf<float>({2, 4}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f}),
       TensorOf<float>({4}, {1, 2, 0.5f, 1}), TensorOf<float>({4}, {0, 1, 0, -1}), TensorOf<int32_t>({1, 2}, {1, 0})},
      {.outputs = 3});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 4}));
  ExpectFloats(out[0], {-1.1941828f, -0.29654133f, 0.6994499f, -0.55644643f, -1.3416355f, 0.10557634f, 0.22360592f,
                        0.34163547f});
  EXPECT_EQ(out[1].shape(), (Shape{1}));
  EXPECT_EQ(ValuesOf<int32_t>(out[1]), (std::vector<int32_t>{1}));
  EXPECT_EQ(out[2].shape(), (Shape{1, 2, 4}));
  ExpectFloats(out[2], {-2.25f, -1.25f, 2.5f, 0.75f, -1.25f, -0.25f, 0.75f, 1.75f});
}

TEST(MicrosoftMatMulNBits, UnpacksFourBits) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "MatMulNBits", 1)
                                       .Set("K", int64_t{20})
                                       .Set("N", int64_t{3})
                                       .Set("block_size", int64_t{16})
                                       .Set("bits", int64_t{4});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_MatMulNBits, builder,
      {TensorOf<float>({2, 20}, {-1.25f, 0.5f,   -0.5f,  1.25f,  0.25f, -0.75f, 1,      0,      -1,     0.75f,
                                 -0.25f, -1.25f, 0.5f,   -0.5f,  1.25f, 0.25f,  -0.75f, 1,      0,      -1,
                                 0.75f,  -0.25f, -1.25f, 0.5f,   -0.5f, 1.25f,  0.25f,  -0.75f, 1,      0,
                                 -1,     0.75f,  -0.25f, -1.25f, 0.5f,  -0.5f,  1.25f,  0.25f,  -0.75f, 1}),
       TensorOf<uint8_t>({3, 2, 8}, {11,  48,  85,  122, 159, 196, 233, 14,  51,  88,  125, 162, 199, 236, 17,  54,
                                     91,  128, 165, 202, 239, 20,  57,  94,  131, 168, 205, 242, 23,  60,  97,  134,
                                     171, 208, 245, 26,  63,  100, 137, 174, 211, 248, 29,  66,  103, 140, 177, 214}),
       TensorOf<float>({3, 2}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  ExpectFloats(out[0], {16.3125f, 5.625f, -5.1875f, -24.75f, 3.4375f, -42});
}

TEST(MicrosoftMatMulNBits, HasPackedZeroPoints) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "MatMulNBits", 1)
                                       .Set("K", int64_t{20})
                                       .Set("N", int64_t{3})
                                       .Set("block_size", int64_t{16})
                                       .Set("bits", int64_t{4});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_MatMulNBits, builder,
      {TensorOf<float>({1, 20}, {-1.25f, 0.5f,   -0.5f, 1.25f, 0.25f, -0.75f, 1,      0, -1, 0.75f,
                                 -0.25f, -1.25f, 0.5f,  -0.5f, 1.25f, 0.25f,  -0.75f, 1, 0,  -1}),
       TensorOf<uint8_t>({3, 2, 8}, {11,  48,  85,  122, 159, 196, 233, 14,  51,  88,  125, 162, 199, 236, 17,  54,
                                     91,  128, 165, 202, 239, 20,  57,  94,  131, 168, 205, 242, 23,  60,  97,  134,
                                     171, 208, 245, 26,  63,  100, 137, 174, 211, 248, 29,  66,  103, 140, 177, 214}),
       TensorOf<float>({3, 2}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f}), TensorOf<uint8_t>({3, 1}, {11, 102, 193})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3}));
  ExpectFloats(out[0], {20.25f, 4.25f, -7.6875f});
}

TEST(MicrosoftMatMulNBits, UnpacksTwoBits) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "MatMulNBits", 1)
                                       .Set("K", int64_t{20})
                                       .Set("N", int64_t{3})
                                       .Set("block_size", int64_t{16})
                                       .Set("bits", int64_t{2});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_MatMulNBits, builder,
      {TensorOf<float>({1, 20}, {-1.25f, 0.5f,   -0.5f, 1.25f, 0.25f, -0.75f, 1,      0, -1, 0.75f,
                                 -0.25f, -1.25f, 0.5f,  -0.5f, 1.25f, 0.25f,  -0.75f, 1, 0,  -1}),
       TensorOf<uint8_t>({3, 2, 4}, {11,  48,  85, 122, 159, 196, 233, 14,  51,  88, 125, 162,
                                     199, 236, 17, 54,  91,  128, 165, 202, 239, 20, 57,  94}),
       TensorOf<float>({3, 2}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f}), TensorOf<uint8_t>({3, 1}, {11, 102, 193})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3}));
  ExpectFloats(out[0], {-2.3125f, -4.25f, 5.3125f});
}

TEST(MicrosoftMatMulNBits, TakesEightBitsAndABias) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "MatMulNBits", 1)
                                       .Set("K", int64_t{16})
                                       .Set("N", int64_t{2})
                                       .Set("block_size", int64_t{16})
                                       .Set("bits", int64_t{8});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_MatMulNBits, builder,
      {TensorOf<float>({1, 16}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f, -0.25f, -1.25f, 0.5f,
                                 -0.5f, 1.25f, 0.25f}),
       TensorOf<uint8_t>({2, 1, 16}, {11, 48,  85,  122, 159, 196, 233, 14, 51,  88,  125, 162, 199, 236, 17, 54,
                                      91, 128, 165, 202, 239, 20,  57,  94, 131, 168, 205, 242, 23,  60,  97, 134}),
       TensorOf<float>({2, 1}, {-1.25f, -0.5f}), kNoInput, kNoInput, TensorOf<float>({2}, {0.5f, -2})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2}));
  ExpectFloats(out[0], {-13.875f, 14.25f});
}

TEST(MicrosoftMatMulNBits, RefusesThreeBitsAndPackedWeightsByName) {
  const PrimitiveBuilder plain = PrimitiveBuilder("com.microsoft", "MatMulNBits", 1)
                                     .Set("K", int64_t{16})
                                     .Set("N", int64_t{1})
                                     .Set("block_size", int64_t{16});
  const std::vector<Tensor> inputs = {*Tensor::Allocate(DType::kFloat32, {1, 16}),
                                      *Tensor::Allocate(DType::kUint8, {1, 1, 8}),
                                      *Tensor::Allocate(DType::kFloat32, {1, 1})};
  for (const char* name : {"bits", "weight_prepacked"}) {
    const Status status =
        TryRunNode(MakeMicrosoft_MatMulNBits, PrimitiveBuilder(plain).Set(name, int64_t{3}), inputs).status();
    EXPECT_EQ(status.code(), StatusCode::kNotSupported);
    EXPECT_NE(status.ToString().find(name), std::string::npos) << status.ToString();
  }
}

TEST(MicrosoftFusedGemm, RefusesAnActivationItDoesNotKnowByName) {
  const std::vector<Tensor> inputs = {TensorOf<float>({1, 1}, {1}), TensorOf<float>({1, 1}, {1})};
  const Status status = TryRunNode(MakeMicrosoft_FusedGemm,
                                   PrimitiveBuilder("com.microsoft", "FusedGemm", 1).Set("activation", "Cosh"), inputs)
                            .status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_NE(status.ToString().find("Cosh"), std::string::npos) << status.ToString();
}

TEST(MicrosoftEmbedLayerNormalization, AWordOutsideOfItsTableIsAnError) {
  const Tensor row = TensorOf<float>({1, 2}, {1, 2}), vector = TensorOf<float>({2}, {1, 2});
  const Status status =
      TryRunNode(MakeMicrosoft_EmbedLayerNormalization, PrimitiveBuilder("com.microsoft", "EmbedLayerNormalization", 1),
                 {TensorOf<int32_t>({1, 1}, {-1}), kNoInput, row, row, kNoInput, vector, vector})
          .status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deputy::host
