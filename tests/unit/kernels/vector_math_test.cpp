#include "kernels/linalg/vector_math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "support/float_values.hpp"

namespace deputy::host {
namespace {

// Distance in units of the last place of the true value.
double UlpDistance(float got, double wanted) {
  const float nearest = std::fabs(static_cast<float>(wanted));
  const double unit = static_cast<double>(std::nextafter(nearest, kInf)) - static_cast<double>(nearest);
  return std::fabs(static_cast<double>(got) - wanted) / unit;
}

// Over floats of all magnitudes up to `limit`, of both signs.
template <class F, class G>
double LargestUlpDistance(F function, G truth, float limit) {
  double largest = 0;
  for (uint32_t bits = 0; bits < std::bit_cast<uint32_t>(limit); bits += 4999) {
    for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)})
      largest = std::max(largest, UlpDistance(function(x), truth(static_cast<double>(x))));
  }
  return largest;
}

TEST(VectorMath, ExpIsNearTheTruth) {
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorExp(x); }, [](double x) { return std::exp(x); }, 88.0f), 3);
}

TEST(VectorMath, TanhIsNearTheTruth) {
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorTanh(x); }, [](double x) { return std::tanh(x); }, 1e30f), 3);
}

TEST(VectorMath, ErfIsNearTheTruth) {
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorErf(x); }, [](double x) { return std::erf(x); }, 1e30f), 3);
}

TEST(VectorMath, ErfAtItsEnds) {
  EXPECT_EQ(VectorErf(kInf), 1.0f);
  EXPECT_EQ(VectorErf(-kInf), -1.0f);
  EXPECT_TRUE(std::signbit(VectorErf(-0.0f)));
}

TEST(VectorMath, SigmoidIsNearTheTruth) {
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorSigmoid(x); },
                               [](double x) { return 1 / (1 + std::exp(-x)); }, 87.0f),
            3);
}

TEST(VectorMath, ExpAtItsEnds) {
  EXPECT_EQ(VectorExp(0.0f), 1.0f);
  EXPECT_EQ(VectorExp(kInf), kInf);
  EXPECT_EQ(VectorExp(-kInf), 0.0f);
  EXPECT_EQ(VectorExp(89.0f), kInf);
  EXPECT_EQ(VectorExp(-1e30f), 0.0f);
}

TEST(VectorMath, ExpOfLowNumbersIsSubnormal) {
  EXPECT_NEAR(static_cast<double>(VectorExp(-95.0f)), std::exp(-95.0), 2e-45);
}

TEST(VectorMath, TanhAtItsEnds) {
  EXPECT_EQ(VectorTanh(kInf), 1.0f);
  EXPECT_EQ(VectorTanh(-kInf), -1.0f);
  EXPECT_TRUE(std::signbit(VectorTanh(-0.0f)));
}

TEST(VectorMath, Expm1IsNearTheTruthAlsoNearZero) {
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorExpm1(x); }, [](double x) { return std::expm1(x); }, 88.0f),
            3);
  EXPECT_TRUE(std::signbit(VectorExpm1(-0.0f)));
  EXPECT_EQ(VectorExpm1(-kInf), -1.0f);
  EXPECT_EQ(VectorExpm1(kInf), kInf);
}

TEST(VectorMath, LogIsNearTheTruthAlsoOfSubnormals) {
  for (uint32_t bits = 1; bits < std::bit_cast<uint32_t>(kInf); bits += 4999) {
    const float x = std::bit_cast<float>(bits);
    ASSERT_LT(UlpDistance(VectorLog(x), std::log(static_cast<double>(x))), 2) << x;
  }
}

TEST(VectorMath, LogAtItsEnds) {
  EXPECT_EQ(VectorLog(1.0f), 0.0f);
  EXPECT_EQ(VectorLog(0.0f), -kInf);
  EXPECT_EQ(VectorLog(-0.0f), -kInf);
  EXPECT_EQ(VectorLog(kInf), kInf);
  EXPECT_TRUE(std::isnan(VectorLog(-1.0f)));
  EXPECT_TRUE(std::isnan(VectorLog(-kInf)));
}

TEST(VectorMath, SoftplusAndMishAreNearTheTruth) {
  const auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorSoftplus(x); }, softplus, 87.0f), 3);
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorMish(x); },
                               [&](double x) { return x * std::tanh(softplus(x)); }, 80.0f),
            5);
  EXPECT_EQ(VectorSoftplus(kInf), kInf);
  EXPECT_EQ(VectorSoftplus(-kInf), 0.0f);
  EXPECT_EQ(VectorMish(kInf), kInf);
}

TEST(VectorMath, SinesAreNearTheTruthUpToManyTurns) {
  EXPECT_LT(
      LargestUlpDistance([](float x) { return VectorSin(x); }, [](double x) { return std::sin(x); }, kVectorTurns), 3);
  EXPECT_LT(
      LargestUlpDistance([](float x) { return VectorCos(x); }, [](double x) { return std::cos(x); }, kVectorTurns), 3);
  EXPECT_TRUE(std::signbit(VectorSin(-0.0f)));
}

TEST(VectorMath, InverseSinesAreNearTheTruth) {
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorAsin(x); }, [](double x) { return std::asin(x); }, 1.0f), 3);
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorAcos(x); }, [](double x) { return std::acos(x); }, 1.0f), 3);
  EXPECT_TRUE(std::isnan(VectorAsin(1.5f)) && std::isnan(VectorAcos(-1.5f)));
  EXPECT_EQ(VectorAcos(1.0f), 0.0f);
  EXPECT_TRUE(std::signbit(VectorAsin(-0.0f)));
}

TEST(VectorMath, InverseTangentIsNearTheTruth) {
  EXPECT_LT(LargestUlpDistance([](float x) { return VectorAtan(x); }, [](double x) { return std::atan(x); }, 1e30f), 3);
  EXPECT_NEAR(static_cast<double>(VectorAtan(-kInf)), -std::atan(1.0) * 2, 1e-6);
  EXPECT_TRUE(std::signbit(VectorAtan(-0.0f)));
}

TEST(VectorMath, NanStaysNan) {
  for (float (*function)(float) : {+[](float x) { return VectorExpm1(x); }, +[](float x) { return VectorLog(x); },
                                   +[](float x) { return VectorSoftplus(x); }, +[](float x) { return VectorMish(x); },
                                   +[](float x) { return VectorSin(x); }, +[](float x) { return VectorCos(x); },
                                   +[](float x) { return VectorAsin(x); }, +[](float x) { return VectorAcos(x); },
                                   +[](float x) { return VectorAtan(x); }})
    EXPECT_TRUE(std::isnan(function(kNan)));
  EXPECT_TRUE(std::isnan(VectorExp(kNan)));
  EXPECT_TRUE(std::isnan(VectorTanh(kNan)));
  EXPECT_TRUE(std::isnan(VectorErf(kNan)));
  EXPECT_TRUE(std::isnan(VectorSigmoid(kNan)));
}

}  // namespace
}  // namespace deputy::host
