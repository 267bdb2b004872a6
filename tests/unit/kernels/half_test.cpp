#include "tensor/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/linalg/rows.hpp"
#include "unit/kernels/linalg_levels.hpp"

namespace deputy::host {
namespace {

// The value of the bits by the definition of the format.
double HalfByDefinition(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryFiniteNumberIsItsDefinition) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00) continue;
    ASSERT_EQ(ToFloat(Half{static_cast<uint16_t>(bits)}), HalfByDefinition(static_cast<uint16_t>(bits))) << bits;
  }
}

TEST(Half, EveryNumberSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    if (std::isnan(ToFloat(half))) continue;
    ASSERT_EQ(ToHalf(ToFloat(half)).bits, bits);
  }
}

TEST(Half, HalfwayRoundsToEven) {
  EXPECT_EQ(ToHalf(1.0f + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(ToHalf(1.0f + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(ToHalf(1.0f + 0x1p-11f + 0x1p-20f).bits, 0x3c01);
}

TEST(Half, HalfwayBetweenSubnormalsRoundsToEven) {
  EXPECT_EQ(ToHalf(0x1p-25f).bits, 0);
  EXPECT_EQ(ToHalf(3 * 0x1p-25f).bits, 2);
  EXPECT_EQ(ToHalf(-0x1p-24f).bits, 0x8001);
}

TEST(Half, LargeNumbersBecomeInfinite) {
  EXPECT_EQ(ToHalf(65519.0f).bits, 0x7bff);
  EXPECT_EQ(ToHalf(65520.0f).bits, 0x7c00);
  EXPECT_EQ(ToHalf(-1e30f).bits, 0xfc00);
}

TEST(Half, NanStaysNan) {
  EXPECT_TRUE(std::isnan(ToFloat(ToHalf(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(ToFloat(Half{0x7c01})));
}

TEST(Half, DoubleIsRoundedOnce) {
  // Rounded to float first, this is halfway between two halves and goes to the even one below.
  const double above_halfway = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(ToHalf(above_halfway).bits, 0x3c01);
  EXPECT_EQ(ToHalf(-above_halfway).bits, 0xbc01);
}

TEST(Half, DoublesBelowEveryFloatAreZero) {
  EXPECT_EQ(ToHalf(1e-300).bits, 0);
  EXPECT_EQ(ToHalf(-1e-300).bits, 0x8000);
}

TEST(BFloat16, HalfwayRoundsToEven) {
  EXPECT_EQ(ToBFloat16(1.0f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(ToBFloat16(1.0f + 3 * 0x1p-8f).bits, 0x3f82);
}

TEST(BFloat16, NanWithLowBitsOnlyStaysNan) {
  EXPECT_TRUE(std::isnan(ToFloat(ToBFloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(BFloat16, LargestFloatBecomesInfinite) { EXPECT_EQ(ToBFloat16(std::numeric_limits<float>::max()).bits, 0x7f80); }

class HalvesOfLevel : public linalg::LevelTest {};
INSTANTIATE_TEST_SUITE_P(Levels, HalvesOfLevel, testing::ValuesIn(linalg::AvailableLevels()), linalg::LevelName);

TEST_P(HalvesOfLevel, AreWidenedAndNarrowedAsByTheLoop) {
  std::vector<uint16_t> halves(65536);
  std::iota(halves.begin(), halves.end(), uint16_t{0});
  std::vector<float> wide(halves.size());
  if (GetParam() == linalg::Level::kBaseline) {
    EXPECT_FALSE(linalg::WidenHalves(halves.data(), 65536, wide.data()));
    return;
  }
  ASSERT_TRUE(linalg::WidenHalves(halves.data(), 65536, wide.data()));
  std::vector<float> between;
  for (size_t i = 0; i < halves.size(); ++i) {
    const float expected = ToFloat(Half{halves[i]});
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(wide[i])) << i;
      continue;
    }
    EXPECT_EQ(wide[i], expected) << i;
    between.insert(between.end(), {expected, std::nextafter(expected, 1e9f), expected * 1.00048828125f, -expected * 3});
  }
  between.resize(between.size() - 3);  // not a multiple of what an instruction takes
  std::vector<uint16_t> narrow(between.size());
  ASSERT_TRUE(linalg::NarrowToHalves(between.data(), static_cast<int64_t>(between.size()), narrow.data()));
  for (size_t i = 0; i < between.size(); ++i) EXPECT_EQ(narrow[i], ToHalf(between[i]).bits) << between[i];
}

}  // namespace
}  // namespace deputy::host
