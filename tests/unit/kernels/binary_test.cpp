#include "kernels/binary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/dispatch.hpp"
#include "support/float_values.hpp"

namespace deputy::host {
namespace {

// The operation on two single elements.
template <class R, class A, class B>
R One(BinaryOp op, A first, B second) {
  const std::optional<BinaryKernel> kernel = FindBinary(op, kDTypeOf<A>, kDTypeOf<B>);
  EXPECT_TRUE(kernel.has_value());
  R result{};
  ThreadPool pool(1);
  if (kernel) Binary(*kernel, PlanBroadcast<2>({}, {}).value(), &first, &second, &result, pool);
  return result;
}

TEST(IntegerDivision, RoundsTowardsZero) {
  EXPECT_EQ(One<int32_t>(BinaryOp::kDiv, -7, 2), -3);
  EXPECT_EQ(One<int8_t>(BinaryOp::kDiv, int8_t{7}, int8_t{-2}), -3);
}

TEST(IntegerDivision, ByZeroGivesZero) {
  EXPECT_EQ(One<int32_t>(BinaryOp::kDiv, 7, 0), 0);
  EXPECT_EQ(One<uint8_t>(BinaryOp::kDiv, uint8_t{7}, uint8_t{0}), 0);
  EXPECT_EQ(One<int64_t>(BinaryOp::kMod, int64_t{7}, int64_t{0}), 0);
  EXPECT_EQ(One<int32_t>(BinaryOp::kFMod, 7, 0), 0);
}

TEST(IntegerDivision, LowestByMinusOneStaysLowest) {
  EXPECT_EQ(One<int32_t>(BinaryOp::kDiv, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(One<int64_t>(BinaryOp::kDiv, INT64_MIN, int64_t{-1}), INT64_MIN);
  EXPECT_EQ(One<int64_t>(BinaryOp::kMod, INT64_MIN, int64_t{-1}), 0);
}

TEST(IntegerArithmetic, Wraps) {
  EXPECT_EQ(One<int32_t>(BinaryOp::kAdd, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(One<uint16_t>(BinaryOp::kMul, uint16_t{65535}, uint16_t{65535}), 1);
  EXPECT_EQ(One<uint8_t>(BinaryOp::kSub, uint8_t{1}, uint8_t{2}), 255);
}

TEST(Modulo, OfCHasTheSignOfTheDividend) {
  EXPECT_EQ(One<int32_t>(BinaryOp::kFMod, -7, 3), -1);
  EXPECT_EQ(One<float>(BinaryOp::kFMod, -7.5f, 3.0f), -1.5f);
}

TEST(Modulo, OfTheDivisorHasItsSignForFloatsToo) {
  EXPECT_EQ(One<float>(BinaryOp::kMod, -7.5f, 3.0f), 1.5f);
  EXPECT_EQ(One<double>(BinaryOp::kMod, 7.5, -3.0), -1.5);
}

TEST(Extremes, NanWinsOnEitherSide) {
  EXPECT_TRUE(std::isnan(One<float>(BinaryOp::kMax, kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(One<float>(BinaryOp::kMax, 1.0f, kNan)));
  EXPECT_TRUE(std::isnan(One<float>(BinaryOp::kMin, kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(One<float>(BinaryOp::kMin, 1.0f, kNan)));
}

TEST(Power, KeepsTheTypeOfTheBase) {
  EXPECT_EQ(One<float>(BinaryOp::kPow, 2.0f, int64_t{10}), 1024.0f);
  EXPECT_EQ(One<int32_t>(BinaryOp::kPow, 9, 0.5f), 3);
  EXPECT_EQ(One<float>(BinaryOp::kPow, -3.0f, int32_t{3}), -27.0f);
}

TEST(Power, OfIntegersIsExact) {
  EXPECT_EQ(One<int64_t>(BinaryOp::kPow, int64_t{3}, int64_t{39}), 4052555153018976267);
  EXPECT_EQ(One<int64_t>(BinaryOp::kPow, int64_t{2}, int32_t{64}), 0);
}

TEST(Power, WithNegativeIntegerExponentIsTruncated) {
  EXPECT_EQ(One<int32_t>(BinaryOp::kPow, 2, -1), 0);
  EXPECT_EQ(One<int32_t>(BinaryOp::kPow, -1, -3), -1);
  EXPECT_EQ(One<int32_t>(BinaryOp::kPow, 0, -1), 0);
}

TEST(Power, SquareOfManyIsTheProduct) {
  const std::vector<float> base = {-2, 0, 1.5f};
  const float two = 2;
  std::vector<float> result(3);
  const std::vector<int64_t> dims = {3};
  ThreadPool pool(1);
  Binary(*FindBinary(BinaryOp::kPow, DType::kFloat32, DType::kFloat32),
         PlanBroadcast<2>({std::span<const int64_t>(dims), {}}, dims).value(), base.data(), &two, result.data(), pool);
  EXPECT_EQ(result, (std::vector<float>{4, 0, 2.25f}));
}

TEST(Comparison, WithNanIsFalse) {
  EXPECT_FALSE(One<bool>(BinaryOp::kEqual, kNan, kNan));
  EXPECT_FALSE(One<bool>(BinaryOp::kGreaterOrEqual, kNan, 1.0f));
  EXPECT_FALSE(One<bool>(BinaryOp::kLess, kNan, 1.0f));
}

TEST(Comparison, OfInt64IsExact) {
  EXPECT_TRUE(One<bool>(BinaryOp::kLess, (int64_t{1} << 60), (int64_t{1} << 60) + 1));
}

TEST(Comparison, OrderOfBoolIsNotSupported) {
  EXPECT_FALSE(FindBinary(BinaryOp::kLess, DType::kBool, DType::kBool));
  EXPECT_TRUE(FindBinary(BinaryOp::kEqual, DType::kBool, DType::kBool));
}

TEST(Types, ThatDifferAreNotSupported) {
  EXPECT_FALSE(FindBinary(BinaryOp::kAdd, DType::kFloat32, DType::kInt32));
  EXPECT_FALSE(FindBinary(BinaryOp::kPow, DType::kFloat32, DType::kString));
}

TEST(Float16, IsComputedInFloatAndRoundedOnce) {
  // 1 + 2^-11 + 2^-11 is 1 + 2^-10 only if the sum is formed before rounding.
  const Half small = ToHalf(0x1p-11f);
  EXPECT_EQ(One<Half>(BinaryOp::kAdd, small, small).bits, ToHalf(0x1p-10f).bits);
  EXPECT_TRUE(One<bool>(BinaryOp::kGreater, ToHalf(2.0f), ToHalf(1.0f)));
}

TEST(Float16, LongRunsWithAStandingOperandAreConvertedBlockByBlock) {
  const std::vector<int64_t> dims = {3, 1000}, column = {3, 1};
  std::vector<BFloat16> first(3000), second(3), result(3000);
  for (size_t i = 0; i < 3000; ++i) first[i] = ToBFloat16(static_cast<float>(i % 128));
  for (size_t i = 0; i < 3; ++i) second[i] = ToBFloat16(static_cast<float>(i));
  ThreadPool pool(2);
  Binary(*FindBinary(BinaryOp::kAdd, DType::kBFloat16, DType::kBFloat16),
         PlanBroadcast<2>({std::span<const int64_t>(dims), std::span<const int64_t>(column)}, dims).value(),
         first.data(), second.data(), result.data(), pool);
  for (size_t i = 0; i < 3000; ++i) ASSERT_EQ(ToFloat(result[i]), static_cast<float>(i % 128 + i / 1000)) << i;
}

TEST(WhereKernel, RefusesElementsOfOtherSizes) {
  ThreadPool pool(1);
  EXPECT_FALSE(Where(3, PlanBroadcast<3>({}, {}).value(), nullptr, nullptr, nullptr, nullptr, pool));
}

}  // namespace
}  // namespace deputy::host
