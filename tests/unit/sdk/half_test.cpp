// Half precision: every half, the CPU's way and the portable one, rounding, infinities.
#include "deputy/sdk/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace deputy::sdk {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool IsNan(uint16_t half) { return (half & 0x7c00u) == 0x7c00u && (half & 0x3ffu) != 0; }

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (IsNan(half)) continue;
    ASSERT_EQ(HalfOf(FloatOf(half)), half) << std::hex << bits;
  }
}

TEST(Half, WholeArraysAreAsSingleNumbers) {
  std::vector<float> floats;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatOf(static_cast<uint16_t>(bits));
    if (!std::isfinite(value)) continue;
    floats.insert(floats.end(), {value, value * 1.0002f, value * 1.00048828125f, value * 70000.0f});
  }
  std::vector<uint16_t> halves(floats.size());
  ToHalf(floats.data(), halves.data(), floats.size());
  std::vector<float> back(floats.size());
  ToFloat(halves.data(), back.data(), halves.size());
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(halves[i], HalfOf(floats[i])) << floats[i];
    ASSERT_EQ(back[i], FloatOf(halves[i]));
  }
}

TEST(Half, TiesGoToEven) {
  EXPECT_EQ(HalfOf(1.0f + 0.00048828125f), HalfOf(1.0f));
  EXPECT_EQ(HalfOf(1.0f + 3 * 0.00048828125f), HalfOf(1.0f + 4 * 0.00048828125f));
}

TEST(Half, TooLargeNumbersAreInfiniteHalves) {
  EXPECT_EQ(FloatOf(HalfOf(65519.0f)), 65504.0f);
  EXPECT_EQ(FloatOf(HalfOf(65520.0f)), kInfinity);
  EXPECT_EQ(FloatOf(HalfOf(-1e9f)), -kInfinity);
  EXPECT_EQ(FloatOf(HalfOf(kInfinity)), kInfinity);
}

TEST(Half, SmallNumbersAreSubnormal) {
  EXPECT_EQ(FloatOf(HalfOf(5.9604645e-8f)), 5.9604645e-8f);
  EXPECT_EQ(FloatOf(HalfOf(2.9e-8f)), 0.0f);
  EXPECT_TRUE(std::signbit(FloatOf(HalfOf(-1e-9f))));
}

TEST(Half, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(FloatOf(HalfOf(nan))));
  const std::vector<float> many(16, nan);
  std::vector<uint16_t> halves(16);
  ToHalf(many.data(), halves.data(), many.size());
  for (const uint16_t half : halves) EXPECT_TRUE(std::isnan(FloatOf(half)));
}

}  // namespace
}  // namespace deputy::sdk
