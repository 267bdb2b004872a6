// Half precision: every half, the wide and the portable way, rounding, infinities and saturation.
#include "plugins/sim_npu/fp16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sim_npu {
namespace {

bool IsNan(uint16_t half) { return (half & 0x7c00u) == 0x7c00u && (half & 0x3ffu) != 0; }
bool IsInfinite(uint16_t half) { return (half & 0x7fffu) == 0x7c00u; }

TEST(Fp16, EveryFiniteHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (IsNan(half) || IsInfinite(half)) continue;
    ASSERT_EQ(HalfOf(FloatOf(half)), half) << std::hex << bits;
  }
}

TEST(Fp16, WholeArraysAreAsSingleNumbers) {
  std::vector<float> floats;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatOf(static_cast<uint16_t>(bits));
    if (!std::isfinite(value)) continue;
    floats.insert(floats.end(), {value, value * 1.0002f, value * 1.00048828125f, value * 70000.0f});
  }
  std::vector<uint16_t> halves(floats.size());
  ToHalf(floats.data(), halves.data(), floats.size());
  std::vector<float> back(floats.size()), rounded(floats.size());
  ToFloat(halves.data(), back.data(), halves.size());
  RoundToHalf(floats.data(), rounded.data(), floats.size());
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(halves[i], HalfOf(floats[i])) << floats[i];
    ASSERT_EQ(back[i], FloatOf(halves[i]));
    ASSERT_EQ(rounded[i], RoundedToHalf(floats[i])) << floats[i];
  }
}

TEST(Fp16, TiesGoToEven) {
  EXPECT_EQ(HalfOf(1.0f + 0.00048828125f), HalfOf(1.0f));
  EXPECT_EQ(HalfOf(1.0f + 3 * 0.00048828125f), HalfOf(1.0f + 4 * 0.00048828125f));
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Fp16, TooLargeNumbersAreInfiniteHalves) {
  EXPECT_EQ(FloatOf(HalfOf(65519.0f)), kLargestHalf);
  EXPECT_EQ(FloatOf(HalfOf(65520.0f)), kInfinity);
  EXPECT_EQ(FloatOf(HalfOf(-1e9f)), -kInfinity);
  EXPECT_EQ(FloatOf(HalfOf(kInfinity)), kInfinity);
}

TEST(Fp16, TheMatrixUnitSaturatesWhatIsFinite) {
  std::vector<float> many{1e9f, -1e9f, 65520.0f, kInfinity, -kInfinity, 1.0f, -0.0f, 65504.0f};
  const std::vector<float> wanted{kLargestHalf, -kLargestHalf, kLargestHalf, kInfinity, -kInfinity, 1, 0, kLargestHalf};
  for (size_t i = 0; i < many.size(); ++i) EXPECT_EQ(RoundedToHalf(many[i]), wanted[i]);
  RoundToHalf(many.data(), many.data(), many.size());
  EXPECT_EQ(many, wanted);
}

TEST(Fp16, SmallNumbersAreSubnormal) {
  EXPECT_EQ(FloatOf(HalfOf(5.9604645e-8f)), 5.9604645e-8f);
  EXPECT_EQ(FloatOf(HalfOf(2.9e-8f)), 0.0f);
  EXPECT_TRUE(std::signbit(FloatOf(HalfOf(-1e-9f))));
}

TEST(Fp16, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(FloatOf(HalfOf(nan))));
  std::vector<float> many(16, nan);
  std::vector<uint16_t> halves(16);
  ToHalf(many.data(), halves.data(), many.size());
  for (const uint16_t half : halves) EXPECT_TRUE(std::isnan(FloatOf(half)));
  RoundToHalf(many.data(), many.data(), many.size());
  for (const float value : many) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace sim_npu
