#include "kernels/unary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/activation.hpp"
#include "kernels/dispatch.hpp"
#include "support/float_values.hpp"

namespace deputy::host {
namespace {

template <class T>
std::vector<T> Apply(UnaryOp op, const std::vector<T>& source, const UnaryParameters& parameters = {}) {
  std::vector<T> target(source.size());
  ThreadPool pool(2);
  EXPECT_TRUE(
      Unary(op, kDTypeOf<T>, parameters, source.data(), target.data(), static_cast<int64_t>(source.size()), pool));
  return target;
}

template <class T>
std::vector<uint8_t> RunPredicate(UnaryOp op, const std::vector<T>& source, const UnaryParameters& parameters = {}) {
  std::vector<uint8_t> target(source.size(), 9);
  ThreadPool pool(1);
  EXPECT_TRUE(
      Unary(op, kDTypeOf<T>, parameters, source.data(), target.data(), static_cast<int64_t>(source.size()), pool));
  return target;
}

TEST(Sign, OfZeroAndNan) {
  const std::vector<float> got = Apply<float>(UnaryOp::kSign, {-3, 0, 3, kNan});
  EXPECT_EQ(got[0], -1);
  EXPECT_EQ(got[1], 0);
  EXPECT_EQ(got[2], 1);
  EXPECT_TRUE(std::isnan(got[3]));
}

TEST(Relu, KeepsNan) { EXPECT_TRUE(std::isnan(Apply<float>(UnaryOp::kRelu, {kNan})[0])); }

TEST(Abs, OfTheLowestIntegerIsItself) {
  EXPECT_EQ(Apply<int32_t>(UnaryOp::kAbs, {INT32_MIN, -5}), (std::vector<int32_t>{INT32_MIN, 5}));
  EXPECT_EQ(Apply<int8_t>(UnaryOp::kNeg, {-128, 5}), (std::vector<int8_t>{-128, -5}));
}

TEST(Abs, OfUnsignedIsTheSame) {
  EXPECT_EQ(Apply<uint64_t>(UnaryOp::kAbs, {UINT64_MAX}), (std::vector<uint64_t>{UINT64_MAX}));
}

TEST(Softplus, OfLargeNumbersIsTheNumber) {
  const std::vector<float> got = Apply<float>(UnaryOp::kSoftplus, {1000, -1000, 0});
  EXPECT_EQ(got[0], 1000);
  EXPECT_EQ(got[1], 0);
  EXPECT_FLOAT_EQ(got[2], std::log(2.0f));
}

TEST(Elu, NearZeroKeepsItsDigits) {
  UnaryParameters parameters;
  parameters.alpha = 1;
  EXPECT_FLOAT_EQ(Apply<float>(UnaryOp::kElu, {-1e-6f}, parameters)[0], -1e-6f);
}

TEST(IsNaN, OfFloat16GivesOneBytePerElement) {
  std::vector<Half> source(1500, ToHalf(1.0f));
  source[1400] = Half{0x7e00};
  const std::vector<uint8_t> got = RunPredicate(UnaryOp::kIsNaN, source);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i == 1400 ? 1 : 0);
}

TEST(Float16, IsComputedBlockByBlockInFloat) {
  std::vector<BFloat16> source;
  for (int i = 0; i < 1500; ++i) source.push_back(ToBFloat16(static_cast<float>(i % 16)));
  const std::vector<BFloat16> got = Apply<BFloat16>(UnaryOp::kNeg, source);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(ToFloat(got[i]), -static_cast<float>(i % 16));
}

TEST(Not, OfAnythingButZeroIsFalse) {
  const uint8_t source[] = {0, 1, 2};
  uint8_t target[3];
  ThreadPool pool(1);
  ASSERT_TRUE(Unary(UnaryOp::kNot, DType::kBool, {}, source, target, 3, pool));
  EXPECT_EQ(std::vector<uint8_t>(target, target + 3), (std::vector<uint8_t>{1, 0, 0}));
}

TEST(SupportsUnary, SaysWhatEachTypeHas) {
  EXPECT_TRUE(SupportsUnary(UnaryOp::kSin, DType::kBFloat16));
  EXPECT_FALSE(SupportsUnary(UnaryOp::kSin, DType::kInt32));
  EXPECT_FALSE(SupportsUnary(UnaryOp::kNot, DType::kInt32));
  EXPECT_FALSE(SupportsUnary(UnaryOp::kAbs, DType::kBool));
  EXPECT_FALSE(SupportsUnary(UnaryOp::kAbs, DType::kString));
}

TEST(Clip, LowAboveHighGivesHigh) {
  const float source[] = {0, 5, 10}, low = 8, high = 2;
  float target[3];
  ThreadPool pool(1);
  ASSERT_TRUE(Clip(DType::kFloat32, source, &low, &high, target, 3, pool));
  EXPECT_EQ(std::vector<float>(target, target + 3), (std::vector<float>{2, 2, 2}));
}

TEST(Clip, KeepsNanAndInfinityWithoutBounds) {
  const float source[] = {kNan, -kInf};
  float target[2];
  ThreadPool pool(1);
  ASSERT_TRUE(Clip(DType::kFloat32, source, nullptr, nullptr, target, 2, pool));
  EXPECT_TRUE(std::isnan(target[0]));
  EXPECT_EQ(target[1], -kInf);
}

TEST(Erf, OfIntegersIsCutOff) {
  EXPECT_EQ(Apply<int8_t>(UnaryOp::kErf, {-7, -1, 0, 3, 100}), (std::vector<int8_t>{-1, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace deputy::host
