#include "cli/inputs/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace deputy::cli {
namespace {

template <class T>
Tensor Make(DType dtype, const std::vector<T>& values) {
  return Tensor::FromValues<T>(dtype, {static_cast<int64_t>(values.size())}, values).value();
}

TEST(TensorConvert, FloatsAreRoundedToTheNearestHalf) {
  // The second and third lie in the middle between two halves, the last two are the smallest and out of range.
  const std::optional<Tensor> half = ConvertTensor(
      Make<float>(DType::kFloat32, {1.0F, 1.00048828125F, 1.00146484375F, -2.5F, 6e-8F, 1e6F}), DType::kFloat16);
  ASSERT_TRUE(half);
  const std::vector<uint16_t> want = {0x3C00, 0x3C00, 0x3C02, 0xC100, 0x0001, 0x7C00};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(half->values<uint16_t>()[i], want[i]) << i;
}

TEST(TensorConvert, ZeroIsZeroInHalfPrecision) {
  const std::optional<Tensor> half = ConvertTensor(Make<float>(DType::kFloat32, {0.0F, -0.0F}), DType::kFloat16);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->values<uint16_t>()[0], 0x0000);
  EXPECT_EQ(half->values<uint16_t>()[1], 0x8000);
}

TEST(TensorConvert, FloatsAreRoundedToTheNearestBfloat16) {
  const std::optional<Tensor> brief =
      ConvertTensor(Make<float>(DType::kFloat32, {1.0F, 1.00390625F, 1.01171875F}), DType::kBFloat16);
  ASSERT_TRUE(brief);
  const std::vector<uint16_t> want = {0x3F80, 0x3F80, 0x3F82};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(brief->values<uint16_t>()[i], want[i]) << i;
}

TEST(TensorConvert, IntegersThatFitChangeTheirType) {
  const std::optional<Tensor> narrow = ConvertTensor(Make<int64_t>(DType::kInt64, {-5, 127}), DType::kInt8);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->values<int8_t>()[0], -5);
  EXPECT_EQ(narrow->values<int8_t>()[1], 127);
}

TEST(TensorConvert, WhatWouldChangeDoesNotConvert) {
  EXPECT_FALSE(ConvertTensor(Make<int64_t>(DType::kInt64, {128}), DType::kInt8));
  EXPECT_FALSE(ConvertTensor(Make<int32_t>(DType::kInt32, {-1}), DType::kUint32));
  EXPECT_FALSE(ConvertTensor(Make<float>(DType::kFloat32, {0.5F}), DType::kInt32));
  EXPECT_FALSE(ConvertTensor(Make<int32_t>(DType::kInt32, {16777217}), DType::kFloat32));
}

TEST(TensorConvert, OneElementIsRepeatedForAShape) {
  const std::optional<Tensor> repeated = RepeatElement(Make<float>(DType::kFloat32, {2.5F}), {3, 2});
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->shape(), (Shape{3, 2}));
  for (const float value : repeated->values<float>()) EXPECT_EQ(value, 2.5F);
  EXPECT_FALSE(RepeatElement(Make<float>(DType::kFloat32, {1, 2}), {2, 2}));
  EXPECT_FALSE(RepeatElement(Make<float>(DType::kFloat32, {1}), {-1}));
}

TEST(TensorConvert, StorageTypesTakeTheNearestValue) {
  const std::optional<Tensor> small = ConvertTensor(Make<float>(DType::kFloat32, {1, 1.1F, 500}), DType::kFloat8E4M3FN);
  ASSERT_TRUE(small);
  EXPECT_EQ(ElementAt(*small, 0), 1);
  EXPECT_EQ(ElementAt(*small, 1), 1.125);
  EXPECT_EQ(ElementAt(*small, 2), 448);
}

TEST(ConvertRounded, FloatsBecomeTheNearestIntegersAndHalvesTheEvenOnes) {
  const Tensor made =
      ConvertRounded(Make<double>(DType::kFloat64, {-0.4, 0.5, 1.5, 254.6, 255.4}), DType::kUint8).value();
  const std::vector<uint8_t> want = {0, 0, 2, 255, 255};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(made.values<uint8_t>()[i], want[i]) << i;
}

TEST(ConvertRounded, AnElementOutOfRangeIsNamed) {
  const auto refused = ConvertRounded(Make<float>(DType::kFloat32, {1.0F, 300.0F}), DType::kUint8);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "element 1 is 300, which is out of the range of uint8");
  EXPECT_FALSE(ConvertRounded(Make<double>(DType::kFloat64, {1e39}), DType::kFloat32).ok()) << "it would be infinite";
  EXPECT_FALSE(ConvertRounded(Make<float>(DType::kFloat32, {NAN}), DType::kInt32).ok());
  EXPECT_FALSE(ConvertRounded(Make<uint64_t>(DType::kUint64, {uint64_t{1} << 53 | 1}), DType::kInt64).ok());
  EXPECT_FALSE(ConvertRounded(Make<int8_t>(DType::kInt8, {-1}), DType::kUint64).ok());
}

TEST(ConvertRounded, InfinityAndNanStayInFloats) {
  const Tensor made = ConvertRounded(Make<double>(DType::kFloat64, {HUGE_VAL, NAN}), DType::kFloat16).value();
  EXPECT_TRUE(std::isinf(ElementAt(made, 0)));
  EXPECT_TRUE(std::isnan(ElementAt(made, 1)));
}

TEST(ConvertRounded, TextIsRefused) {
  EXPECT_FALSE(ConvertRounded(Make<float>(DType::kFloat32, {1.0F}), DType::kString).ok());
}

}  // namespace
}  // namespace deputy::cli
