#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

void ExpectNear(const Tensor& tensor, const std::vector<double>& expected) {
  ASSERT_EQ(static_cast<size_t>(tensor.element_count()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(tensor.values<float>()[i], expected[i], 1e-5 + 1e-5 * std::fabs(expected[i])) << "element " << i;
}

Tensor Vector(std::initializer_list<float> values) {
  return TensorOf<float>({static_cast<int64_t>(values.size())}, values);
}

PrimitiveBuilder BatchNorm(int32_t version = 15) {
  return PrimitiveBuilder("", "BatchNormalization", version).Set("epsilon", 0.0f);
}

TEST(BatchNormalizationOnCpu, Float16DataMayHaveWiderStatistics) {
  const auto y = RunNode(MakeBatchNormalization, BatchNorm(),
                         {TensorOf<Half>({1, 1, 2}, {ToHalf(1.0f), ToHalf(3.0f)}), TensorOf<Half>({1}, {ToHalf(2.0f)}),
                          TensorOf<Half>({1}, {ToHalf(1.0f)}), Vector({1}), Vector({4})});
  EXPECT_EQ(ToFloat(y[0].values<Half>()[0]), 1.0f);
  EXPECT_EQ(ToFloat(y[0].values<Half>()[1]), 3.0f);
}

TEST(BatchNormalizationOnCpu, StatisticsWithoutTrainingAreRefused) {
  const auto refused = TryRunNode(MakeBatchNormalization, BatchNorm(),
                                  {TensorOf<float>({1, 1, 1}, {1}), TensorOf<float>({1}, {1}),
                                   TensorOf<float>({1}, {0}), TensorOf<float>({1}, {0}), TensorOf<float>({1}, {1})},
                                  {.outputs = 3});
  EXPECT_EQ(refused.status().code(), StatusCode::kNotSupported);
}

TEST(InstanceNormalizationOnCpu, SmallVarianceSurvivesALargeMean) {
  const auto y =
      RunNode(MakeInstanceNormalization, PrimitiveBuilder("", "InstanceNormalization", 6).Set("epsilon", 0.0f),
              {TensorOf<float>({1, 1, 2}, {10000, 10001}), Vector({1}), Vector({0})});
  EXPECT_NEAR(y[0].values<float>()[1], 1, 2e-3);
}

PrimitiveBuilder LayerNorm() { return PrimitiveBuilder("", "LayerNormalization", 17).Set("epsilon", 0.0f); }

TEST(LayerNormalizationOnCpu, ParametersBroadcastToARow) {
  const auto y = RunNode(MakeLayerNormalization, LayerNorm().Set("axis", int64_t{0}),
                         {TensorOf<float>({2, 2}, {1, 1, 3, 3}), TensorOf<float>({2, 1}, {1, 10}), Vector({0, 100})});
  ExpectNear(y[0], {-1, 99, 10, 110});
}

TEST(LayerNormalizationOnCpu, ParametersThatDoNotBroadcastAreRefused) {
  EXPECT_EQ(TryRunNode(MakeLayerNormalization, LayerNorm(), {TensorOf<float>({2, 2}, {1, 3, 1, 3}), Vector({1, 2, 3})})
                .status()
                .code(),
            StatusCode::kModel);
}

TEST(LayerNormalizationOnCpu, StatisticsOfFloat16AreFloat32) {
  const auto y =
      RunNode(MakeLayerNormalization, LayerNorm(),
              {TensorOf<Half>({1, 2}, {ToHalf(1.0f), ToHalf(3.0f)}), TensorOf<Half>({2}, {ToHalf(1.0f), ToHalf(1.0f)})},
              {.outputs = 2});
  EXPECT_EQ(ToFloat(y[0].values<Half>()[0]), -1.0f);
  ExpectNear(y[1], {2});
}

TEST(BatchNormalizationOnCpu, StatisticsMayBeNarrowerThanTheData) {
  const Tensor one = TensorOf<uint16_t>({1}, {0x3c00}, DType::kFloat16),
               two = TensorOf<uint16_t>({1}, {0x4000}, DType::kFloat16);
  const Tensor zero = TensorOf<uint16_t>({1}, {0}, DType::kBFloat16);
  const PrimitiveBuilder builder = PrimitiveBuilder("", "BatchNormalization", 15).Set("epsilon", 0.0f);
  const std::vector<Tensor> out =
      RunNode(MakeBatchNormalization, builder, {TensorOf<float>({1, 1, 2}, {3, 5}), two, one, zero, one});
  EXPECT_EQ(ValuesOf<float>(out[0]), (std::vector<float>{7, 11}));
}

TEST(InstanceNormalizationOnCpu, APlaneOfOneElementIsItsBias) {
  const std::vector<Tensor> out = RunNode(
      MakeInstanceNormalization, PrimitiveBuilder("", "InstanceNormalization", 6),
      {TensorOf<float>({1, 1, 1}, {-1.90625f}), TensorOf<float>({1}, {1.9375f}), TensorOf<float>({1}, {1.28125f})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (std::vector<float>{1.28125f}));
}

TEST(LRN, AWindowLargerThanAllChannelsSumsThemAll) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "LRN", 13).Set("size", INT64_MAX).Set("alpha", 0x1p63f).Set("beta", 0.5f).Set("bias", 2.0f);
  ExpectFloats(RunOne(MakeLRN, builder, {TensorOf<float>({1, 3, 1}, {1, 2, 3})}), {0.25f, 0.5f, 0.75f});
}

TEST(RMSNormalization, ScaleBroadcasts) {
  ExpectFloats(RunNode(MakeRMSNormalization, PrimitiveBuilder("", "RMSNormalization", 23),
                       {TensorOf<float>({1, 2}, {3, 4}), TensorOf<float>({1}, {5})})[0],
               {4.242639f, 5.656852f});
}

TEST(LpNormalization, ZerosStayZeros) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "LpNormalization", 22).Set("axis", int64_t{1});
  ExpectFloats(RunNode(MakeLpNormalization, builder, {TensorOf<float>({2, 2}, {3, 4, 0, 0})})[0], {0.6f, 0.8f, 0, 0});
}

struct LongVector {
  std::vector<double> x, l1, l2;
};

// Rows whose squares, or whose sum, no double can hold; and what stays as it is without scaling.
const std::vector<LongVector>& LongVectors() {
  constexpr double kHuge = 1.7e308, kRoot = 0.70710678, kTiny = 5e-324;
  static const std::vector<LongVector> vectors = {{{3e200, -4e200}, {3.0 / 7, -4.0 / 7}, {0.6, -0.8}},
                                                  {{3e-200, 4e-200}, {3.0 / 7, 4.0 / 7}, {0.6, 0.8}},
                                                  {{kHuge, kHuge}, {0.5, 0.5}, {kRoot, kRoot}},
                                                  {{kTiny, kTiny}, {0.5, 0.5}, {kRoot, kRoot}},
                                                  {{3e-160, 4e-160}, {3.0 / 7, 4.0 / 7}, {0.6, 0.8}},
                                                  {{1e300, 0}, {1, 0}, {1, 0}},
                                                  {{0, 0}, {0, 0}, {0, 0}},
                                                  {{3, 4}, {3.0 / 7, 4.0 / 7}, {0.6, 0.8}}};
  return vectors;
}

TEST(NormalizerOnCpu, DoublesOfEverySizeAreDividedByTheirNorm) {
  for (const LongVector& vector : LongVectors())
    for (const char* norm : {"L1", "L2"}) {
      const auto y =
          RunNode(MakeMl_Normalizer, PrimitiveBuilder("ai.onnx.ml", "Normalizer", 1).Set("norm", std::string(norm)),
                  {TensorOf<double>({1, 2}, vector.x)});
      SCOPED_TRACE(norm + std::string(" of ") + std::to_string(std::log10(std::fabs(vector.x[0]))));
      ExpectNear(y[0], norm[1] == '1' ? vector.l1 : vector.l2);
    }
}

TEST(NormalizerOnCpu, InfinitiesAndNanStayThemselves) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const auto of = [](double first) {
    return ValuesOf<float>(RunNode(MakeMl_Normalizer,
                                   PrimitiveBuilder("ai.onnx.ml", "Normalizer", 1).Set("norm", std::string("L2")),
                                   {TensorOf<double>({1, 2}, {first, 1e200})})[0]);
  };
  EXPECT_TRUE(std::isnan(of(kInfinite)[0]));
  EXPECT_EQ(of(kInfinite)[1], 0);
  EXPECT_TRUE(std::isnan(of(std::nan(""))[1]));
}

TEST(LpNormalization, DoublesOfEverySizeAreDividedByTheirNorm) {
  for (const LongVector& vector : LongVectors())
    for (const int64_t p : {1, 2})
      for (const bool along_rows : {true, false}) {
        const auto y =
            RunNode(MakeLpNormalization,
                    PrimitiveBuilder("", "LpNormalization", 22).Set("axis", int64_t{along_rows ? 1 : 0}).Set("p", p),
                    {TensorOf<double>(along_rows ? Shape{1, 2} : Shape{2, 1}, vector.x)});
        const std::vector<double>& expected = p == 1 ? vector.l1 : vector.l2;
        for (size_t i = 0; i < 2; ++i)
          EXPECT_NEAR(y[0].values<double>()[i], expected[i], 1e-7) << "p " << p << ", " << vector.x[0];
      }
}

}  // namespace
}  // namespace deputy::host
