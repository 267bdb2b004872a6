#include "deputy/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace deputy {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
Tensor Make(DType dtype, const Shape& shape, const std::vector<T>& values) {
  return Tensor::FromValues<T>(dtype, shape, values).value();
}

Tensor Floats(const std::vector<float>& values) {
  return Make(DType::kFloat32, {static_cast<int64_t>(values.size())}, values);
}

Tolerance Exact() { return {0, 0, 0}; }

TEST(TensorCompare, EqualTensorsMatch) {
  EXPECT_TRUE(CompareTensors(Floats({1, -2, 0}), Floats({1, -2, 0}), Exact()).ok);
}

TEST(TensorCompare, RelativeToleranceGrowsWithTheReference) {
  const Tolerance tolerance{1e-2, 0, 0};
  EXPECT_TRUE(CompareTensors(Floats({100.9F}), Floats({100}), tolerance).ok);
  EXPECT_FALSE(CompareTensors(Floats({1.9F}), Floats({1}), tolerance).ok);
}

TEST(TensorCompare, AbsoluteToleranceHoldsAtZero) {
  EXPECT_TRUE(CompareTensors(Floats({0.05F}), Floats({0}), {0, 0.1, 0}).ok);
  EXPECT_FALSE(CompareTensors(Floats({0.15F}), Floats({0}), {0, 0.1, 0}).ok);
}

TEST(TensorCompare, ScaledToleranceTakesTheLargestReference) {
  EXPECT_TRUE(CompareTensors(Floats({0.9F, 100}), Floats({0, 100}), {0, 0, 1e-2}).ok);
  EXPECT_FALSE(CompareTensors(Floats({1.1F, 100}), Floats({0, 100}), {0, 0, 1e-2}).ok);
}

TEST(TensorCompare, ScaledToleranceIgnoresInfiniteReferences) {
  EXPECT_FALSE(CompareTensors(Floats({5, kInf}), Floats({0, kInf}), {0, 0, 1e-2}).ok);
}

// The lowest number, as of a window in padding, makes no difference of others small.
TEST(TensorCompare, R207_ScaledToleranceIgnoresLimitsOfTheType) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const Tolerance scaled{1e-3, 0, 0.1};
  EXPECT_FALSE(CompareTensors(Floats({kLowest, 42}), Floats({kLowest, 1}), scaled).ok);
  EXPECT_FALSE(CompareTensors(Floats({42, 1}), Floats({kLowest, 1}), scaled).ok);
  EXPECT_TRUE(CompareTensors(Floats({kLowest, 1.05F}), Floats({kLowest, 1}), scaled).ok);
}

TEST(TensorCompare, FewElementsMayBeAStepOff) {
  Tolerance tolerance = Exact();
  tolerance.outliers = 0.25;
  tolerance.step = 1;
  const Comparison comparison = CompareTensors(Floats({1, 2, 3, 5}), Floats({1, 2, 3, 4}), tolerance);
  EXPECT_TRUE(comparison.ok);
  EXPECT_EQ(comparison.outliers, 1);
  EXPECT_FALSE(CompareTensors(Floats({1, 2, 4, 5}), Floats({1, 2, 3, 4}), tolerance).ok);
  EXPECT_FALSE(CompareTensors(Floats({1, 2, 3, 6}), Floats({1, 2, 3, 4}), tolerance).ok);
}

TEST(TensorCompare, TinyReferencesHaveALeastMagnitude) {
  Tolerance tolerance{0, 0, 1e-2};
  EXPECT_FALSE(CompareTensors(Floats({2e-6F}), Floats({1e-6F}), tolerance).ok);
  tolerance.least_magnitude = 0.01;
  EXPECT_TRUE(CompareTensors(Floats({2e-6F}), Floats({1e-6F}), tolerance).ok);
}

TEST(TensorCompare, NanEqualsNan) { EXPECT_TRUE(CompareTensors(Floats({-kNan}), Floats({kNan}), Exact()).ok); }

TEST(TensorCompare, NanIsNoNumber) {
  EXPECT_FALSE(CompareTensors(Floats({kNan}), Floats({0}), {1, 1e9, 0}).ok);
  EXPECT_FALSE(CompareTensors(Floats({0}), Floats({kNan}), {1, 1e9, 0}).ok);
}

TEST(TensorCompare, InfinityEqualsItself) { EXPECT_TRUE(CompareTensors(Floats({-kInf}), Floats({-kInf}), Exact()).ok); }

TEST(TensorCompare, InfinityIsNotItsOpposite) {
  EXPECT_FALSE(CompareTensors(Floats({kInf}), Floats({-kInf}), {1, 1e9, 0}).ok);
}

TEST(TensorCompare, InfinityIsNoLargeNumber) {
  EXPECT_FALSE(CompareTensors(Floats({1e38F}), Floats({kInf}), {1, 1e9, 0}).ok);
}

// Seed row 77.
TEST(TensorCompare, WorstElementIsNamedByItsIndex) {
  const Tensor got = Make<float>(DType::kFloat32, {2, 3}, {0, 0, 0, 0, 5, 1});
  const Tensor want = Make<float>(DType::kFloat32, {2, 3}, {0, 0, 0, 0, 1, 0});
  const Comparison comparison = CompareTensors(got, want, {0, 0.5, 0});
  EXPECT_EQ(comparison.wrong, 2);
  EXPECT_EQ(comparison.worst_index, (Shape{1, 1}));
  EXPECT_EQ(comparison.worst_got, 5);
  EXPECT_EQ(comparison.worst_want, 1);
  EXPECT_EQ(comparison.worst_difference, 4);
  EXPECT_EQ(comparison.worst_allowed, 0.5);
}

TEST(TensorCompare, WorstIsTheFurthestOverWhatIsAllowed) {
  const Comparison comparison = CompareTensors(Floats({1010, 2}), Floats({1000, 1}), {1e-3, 0, 0});
  EXPECT_EQ(comparison.worst_index, Shape{1});
}

TEST(TensorCompare, OtherShapeIsAMisfit) {
  const Comparison comparison = CompareTensors(Floats({1, 2}), Make<float>(DType::kFloat32, {2, 1}, {1, 2}), {});
  EXPECT_FALSE(comparison.ok);
  EXPECT_EQ(comparison.misfit, "got float32 [2], want float32 [2,1]");
}

TEST(TensorCompare, OtherDtypeIsAMisfit) {
  EXPECT_FALSE(CompareTensors(Floats({1}), Make<int32_t>(DType::kInt32, {1}, {1}), {}).misfit.empty());
}

TEST(TensorCompare, LargeIntegersAreNotRoundedTogether) {
  const int64_t large = int64_t{1} << 60;
  const Comparison comparison = CompareTensors(Make<int64_t>(DType::kInt64, {1}, {large + 1}),
                                               Make<int64_t>(DType::kInt64, {1}, {large}), Exact());
  EXPECT_FALSE(comparison.ok);
}

TEST(TensorCompare, EmptyTensorsMatch) {
  EXPECT_TRUE(
      CompareTensors(Make<float>(DType::kFloat32, {0, 3}, {}), Make<float>(DType::kFloat32, {0, 3}, {}), {}).ok);
}

TEST(TensorCompare, HalvesAreComparedByValue) {
  const Tensor one = Make<uint16_t>(DType::kFloat16, {1}, {0x3C00});
  const Tensor two = Make<uint16_t>(DType::kFloat16, {1}, {0x4000});
  EXPECT_EQ(CompareTensors(two, one, Exact()).worst_difference, 1);
}

TEST(TensorCompare, IntegersOfMoreThanTwoBytesAreExactUnlessTheModelIsQuantized) {
  ModelTraits quantized;
  quantized.quantized = true;
  ToleranceSettings given;
  given.rtol = 0.5;
  for (const DType type : {DType::kInt32, DType::kUint32, DType::kInt64, DType::kUint64}) {
    EXPECT_EQ(ToleranceFor({}, type, {}).rtol, 0) << NameOf(type);
    EXPECT_EQ(ToleranceFor({}, type, quantized).rtol, 1e-3) << NameOf(type);
    EXPECT_EQ(ToleranceFor(given, type, {}).rtol, 0.5) << NameOf(type);
  }
  EXPECT_EQ(ToleranceFor({}, DType::kInt16, {}).rtol, 1e-3);
}

TEST(TensorCompare, WholeNumbersAreDescribedWithAllDigits) {
  const Tensor got = Make<int32_t>(DType::kInt32, {1}, {25010032}),
               want = Make<int32_t>(DType::kInt32, {1}, {25010034});
  EXPECT_EQ(CompareTensors(got, want, ToleranceFor({}, DType::kInt32, {})).description,
            "1 of 1 elements differ, worst at [0]: got 25010032, want 25010034, |d| 2, allowed 1e-07");
}

TEST(TensorCompare, MismatchIsDescribedWithAllNumbers) {
  EXPECT_EQ(CompareTensors(Floats({1.5F, 2}), Floats({1.25F, 2}), {0, 0.125, 0}).description,
            "1 of 2 elements differ, worst at [0]: got 1.5, want 1.25, |d| 0.25, allowed 0.125");
}

}  // namespace
}  // namespace deputy
