// The matrix unit's rounding to half precision: every half, the wide and the portable way, saturation.
#include "plugins/sim_npu/fp16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sim_npu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Fp16, WholeArraysAreRoundedAsSingleNumbers) {
  std::vector<float> floats;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatOf(static_cast<uint16_t>(bits));
    if (!std::isfinite(value)) continue;
    floats.insert(floats.end(), {value, value * 1.0002f, value * 1.00048828125f, value * 70000.0f});
  }
  std::vector<float> rounded(floats.size());
  RoundToHalf(floats.data(), rounded.data(), floats.size());
  for (size_t i = 0; i < floats.size(); ++i) ASSERT_EQ(rounded[i], RoundedToHalf(floats[i])) << floats[i];
}

TEST(Fp16, TheMatrixUnitSaturatesWhatIsFinite) {
  std::vector<float> many{1e9f, -1e9f, 65520.0f, kInfinity, -kInfinity, 1.0f, -0.0f, 65504.0f};
  const std::vector<float> wanted{kLargestHalf, -kLargestHalf, kLargestHalf, kInfinity, -kInfinity, 1, 0, kLargestHalf};
  for (size_t i = 0; i < many.size(); ++i) EXPECT_EQ(RoundedToHalf(many[i]), wanted[i]);
  RoundToHalf(many.data(), many.data(), many.size());
  EXPECT_EQ(many, wanted);
}

TEST(Fp16, NanStaysNan) {
  std::vector<float> many(16, std::numeric_limits<float>::quiet_NaN());
  RoundToHalf(many.data(), many.data(), many.size());
  for (const float value : many) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace sim_npu
