#include "kernels/linalg/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/float_values.hpp"
#include "unit/kernels/linalg_levels.hpp"

namespace deputy::host::linalg {
namespace {

class RowsTest : public LevelTest {};
INSTANTIATE_TEST_SUITE_P(Levels, RowsTest, ::testing::ValuesIn(AvailableLevels()), LevelName);

std::vector<float> RandomFloats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-4, 4);
  std::vector<float> row(static_cast<size_t>(count));
  for (float& value : row) value = values(random);
  return row;
}

double Truth(RowFunction function, double x, double alpha, double beta) {
  const auto unit = [](double value) { return std::clamp(value, 0.0, 1.0); };
  switch (function) {
    case RowFunction::kAbs: return std::fabs(x);
    case RowFunction::kAcos: return std::acos(x);
    case RowFunction::kAffine: return alpha * x + beta;
    case RowFunction::kAsin: return std::asin(x);
    case RowFunction::kAtan: return std::atan(x);
    case RowFunction::kCeil: return std::ceil(x);
    case RowFunction::kCelu: return x > 0 ? x : alpha * std::expm1(x / alpha);
    case RowFunction::kClip: return std::clamp(x, alpha, beta);
    case RowFunction::kCos: return std::cos(x);
    case RowFunction::kElu: return x < 0 ? alpha * std::expm1(x) : x;
    case RowFunction::kErf: return std::erf(x);
    case RowFunction::kExp: return std::exp(x);
    case RowFunction::kFloor: return std::floor(x);
    case RowFunction::kGelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case RowFunction::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case RowFunction::kHardSigmoid: return unit(alpha * x + beta);
    case RowFunction::kHardSwish: return x * unit(x / 6 + 0.5);
    case RowFunction::kLeakyRelu: return x < 0 ? alpha * x : x;
    case RowFunction::kLog: return std::log(x);
    case RowFunction::kMish: return x * std::tanh(std::log1p(std::exp(x)));
    case RowFunction::kNeg: return -x;
    case RowFunction::kReciprocal: return 1 / x;
    case RowFunction::kRelu: return std::max(x, 0.0);
    case RowFunction::kRound: return std::nearbyint(x);
    case RowFunction::kSelu: return x > 0 ? beta * x : beta * alpha * std::expm1(x);
    case RowFunction::kShrink: return x < -alpha ? x + beta : (x > alpha ? x - beta : 0);
    case RowFunction::kSigmoid: return 1 / (1 + std::exp(-x));
    case RowFunction::kSin: return std::sin(x);
    case RowFunction::kSoftplus: return std::log1p(std::exp(x));
    case RowFunction::kSqrt: return std::sqrt(x);
    case RowFunction::kTanh: return std::tanh(x);
  }
  return 0;
}

TEST_P(RowsTest, FunctionsAgreeWithTheirDefinitionInPlaceAtEveryLength) {
  for (int f = 0; f < kRowFunctions; ++f)
    for (int64_t count = 0; count <= 70; ++count) {
      const RowFunction function = static_cast<RowFunction>(f);
      std::vector<float> row = RandomFloats(count + 1, static_cast<uint32_t>(count + 1));
      if (function == RowFunction::kSqrt || function == RowFunction::kLog)
        for (float& value : row) value = std::fabs(value);
      if (function == RowFunction::kAcos || function == RowFunction::kAsin)
        for (float& value : row) value /= 4;
      const std::vector<float> x = row;
      Apply(function, row.data(), count, 0.25f, 0.75f, row.data());
      for (int64_t i = 0; i < count; ++i) {
        const double truth = Truth(function, static_cast<double>(x[static_cast<size_t>(i)]), 0.25, 0.75);
        ASSERT_NEAR(row[static_cast<size_t>(i)], truth, 1e-6 * std::max(1.0, std::fabs(truth)))
            << "function " << f << ", element " << i << " of " << count << ", seed " << count + 1;
      }
      ASSERT_EQ(row.back(), x.back()) << "function " << f << " wrote behind " << count << " elements";
    }
}

TEST_P(RowsTest, AnglesOfManyTurnsAreRightBesideSmallOnes) {
  std::vector<float> x = RandomFloats(600, 3);
  x[300] = 1e9f;
  x[599] = -3e38f;
  x[5] = kInf;
  std::vector<float> sines(x.size()), cosines(x.size());
  Apply(RowFunction::kSin, x.data(), 600, 0, 0, sines.data());
  Apply(RowFunction::kCos, x.data(), 600, 0, 0, cosines.data());
  for (size_t i = 0; i < x.size(); ++i) {
    if (i == 5) continue;
    ASSERT_NEAR(sines[i], std::sin(static_cast<double>(x[i])), 1e-6) << i;
    ASSERT_NEAR(cosines[i], std::cos(static_cast<double>(x[i])), 1e-6) << i;
  }
  EXPECT_TRUE(std::isnan(sines[5]) && std::isnan(cosines[5]));
}

TEST_P(RowsTest, RemaindersAreExactWhateverTheQuotient) {
  const std::vector<float> a = {5.5f, -5.5f, 1e30f, 7, kInf, 3, 0, -0.0f, 1e-40f, 16777216, kNan, 1, -6, 9e8f};
  const std::vector<float> b = {2, -2, 0.3f, kInf, 2, 0, 5, 5, 3e-41f, 0.1f, 1, kNan, 3, 7};
  for (size_t first = 0; first < a.size(); ++first)  // alone, among its likes, and in a block with odd ones
    for (const size_t count : {size_t{1}, size_t{20}, a.size()}) {
      std::vector<float> x(count, a[first]), z(count, b[first]), y(count);
      if (count == a.size()) {
        x = a;
        z = b;
      }
      Apply(PairFunction::kFMod, x.data(), 1, z.data(), 1, static_cast<int64_t>(count), y.data());
      for (size_t i = 0; i < count; ++i) {
        const float truth = std::fmod(x[i], z[i]);
        ASSERT_TRUE(std::isnan(truth) ? std::isnan(y[i]) : y[i] == truth && std::signbit(y[i]) == std::signbit(truth))
            << x[i] << " by " << z[i] << ": " << y[i];
      }
    }
}

TEST_P(RowsTest, LogSoftmaxAgreesWithItsDefinition) {
  for (int64_t count = 1; count <= 130; ++count) {
    std::vector<float> row = RandomFloats(count, 7);
    double sum = 0;
    for (const float value : row) sum += std::exp(static_cast<double>(value));
    const std::vector<float> x = row;
    LogSoftmax(row.data(), count, row.data());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(row[i], static_cast<double>(x[i]) - std::log(sum), 2e-6);
  }
}

TEST_P(RowsTest, FunctionsOfNanAreNan) {
  for (int f = 0; f < kRowFunctions; ++f) {
    if (static_cast<RowFunction>(f) == RowFunction::kShrink) continue;  // what is on neither side is zero
    std::vector<float> row(37, 1.0f);
    row[3] = row[35] = kNan;  // in a vector and in the tail
    Apply(static_cast<RowFunction>(f), row.data(), 37, 0.25f, 0.75f, row.data());
    EXPECT_TRUE(std::isnan(row[3]) && std::isnan(row[35])) << "function " << f;
    EXPECT_FALSE(std::isnan(row[4])) << "function " << f;
  }
}

float TruthOfPair(PairFunction function, float a, float b) {
  switch (function) {
    case PairFunction::kAdd: return a + b;
    case PairFunction::kSub: return a - b;
    case PairFunction::kMul: return a * b;
    case PairFunction::kDiv: return a / b;
    case PairFunction::kMax: return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
    case PairFunction::kMin: return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
    case PairFunction::kPRelu: return a < 0 ? a * b : a;
    case PairFunction::kFMod: return std::fmod(a, b);
  }
  return 0;
}

TEST_P(RowsTest, PairsAgreeWithTheirDefinitionForEveryStep) {
  for (int f = 0; f < kPairFunctions; ++f)
    for (const int64_t count : {0, 1, 7, 16, 33, 100})
      for (const auto& [a_step, b_step] : {std::pair<int64_t, int64_t>{1, 1}, {1, 0}, {0, 1}, {0, 0}}) {
        const PairFunction function = static_cast<PairFunction>(f);
        std::vector<float> a = RandomFloats(count + 1, 1), b = RandomFloats(count + 1, 2);
        if (count > 5) a[2] = b[4] = kNan;
        std::vector<float> y(static_cast<size_t>(count + 1), -99);
        Apply(function, a.data(), a_step, b.data(), b_step, count, y.data());
        for (int64_t i = 0; i < count; ++i) {
          const float truth =
              TruthOfPair(function, a[static_cast<size_t>(i * a_step)], b[static_cast<size_t>(i * b_step)]);
          const float got = y[static_cast<size_t>(i)];
          ASSERT_TRUE(got == truth || (std::isnan(got) && std::isnan(truth)))
              << "function " << f << " steps " << a_step << b_step << ", element " << i << " of " << count << ": "
              << got << " for " << truth;
        }
        ASSERT_EQ(y.back(), -99);
      }
}

TEST_P(RowsTest, SumsAreThoseOfDouble) {
  for (int64_t count = 0; count <= 140; ++count) {
    const std::vector<float> x = RandomFloats(count, 5);
    double sum = 0, squares = 0;
    for (const float value : x) {
      sum += static_cast<double>(value);
      squares += (static_cast<double>(value) - 0.5) * (static_cast<double>(value) - 0.5);
    }
    ASSERT_NEAR(Sum(x.data(), count), sum, 1e-11);
    ASSERT_NEAR(SumOfSquares(x.data(), count, 0.5), squares, 1e-11);
  }
}

TEST_P(RowsTest, TheLargestIsFoundAnywhereAndNanWins) {
  EXPECT_EQ(Largest(nullptr, 0), -kInf);
  for (size_t at = 0; at < 150; ++at) {
    std::vector<float> x(150, -5);
    x[at] = -1;
    ASSERT_EQ(Largest(x.data(), 150), -1);
    x[at] = kNan;
    ASSERT_TRUE(std::isnan(Largest(x.data(), 150)));
  }
}

TEST_P(RowsTest, SoftmaxAgreesWithItsDefinition) {
  for (int64_t count = 1; count <= 130; ++count) {
    std::vector<float> row = RandomFloats(count, 7);
    double sum = 0;
    for (const float value : row) sum += std::exp(static_cast<double>(value));
    const std::vector<float> x = row;
    Softmax(row.data(), count, row.data());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(row[i], std::exp(static_cast<double>(x[i])) / sum, 1e-6);
  }
}

TEST_P(RowsTest, NormalizeScalesAndShifts) {
  for (const int64_t count : {1, 15, 16, 50}) {
    const std::vector<float> x = RandomFloats(count, 1), scale = RandomFloats(count, 2), bias = RandomFloats(count, 3);
    std::vector<float> with(x.size()), without(x.size());
    Normalize(x.data(), count, 0.5f, 2.0f, scale.data(), bias.data(), with.data());
    Normalize(x.data(), count, 0.5f, 2.0f, scale.data(), nullptr, without.data());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(without[i], (x[i] - 0.5f) * 2.0f * scale[i], 1e-5);
      ASSERT_NEAR(with[i], (x[i] - 0.5f) * 2.0f * scale[i] + bias[i], 1e-5);
    }
  }
}

struct PoolCase {
  int64_t in[2], kernel[2], strides[2], dilations[2], pads[2], out[2];
};

// The definition; `out` may reach further than any real padding lets it.
std::vector<float> PoolTruth(const PoolCase& c, bool largest, const std::vector<float>& x) {
  std::vector<float> y;
  for (int64_t i = 0; i < c.out[0]; ++i)
    for (int64_t j = 0; j < c.out[1]; ++j) {
      float result = largest ? -kInf : 0;
      for (int64_t a = 0; a < c.kernel[0]; ++a)
        for (int64_t b = 0; b < c.kernel[1]; ++b) {
          const int64_t row = i * c.strides[0] - c.pads[0] + a * c.dilations[0];
          const int64_t column = j * c.strides[1] - c.pads[1] + b * c.dilations[1];
          if (row < 0 || row >= c.in[0] || column < 0 || column >= c.in[1]) continue;
          const float value = x[static_cast<size_t>(row * c.in[1] + column)];
          result = largest ? (value > result ? value : result) : result + value;
        }
      y.push_back(result);
    }
  return y;
}

TEST_P(RowsTest, PoolsOfManyWindowsAgreeWithTheDefinition) {
  std::vector<PoolCase> cases = {{{1, 40}, {1, 3}, {1, 2}, {1, 1}, {0, 1}, {1, 20}},
                                 {{9, 11}, {2, 3}, {3, 1}, {2, 3}, {1, 2}, {4, 9}},
                                 {{3, 3}, {5, 5}, {1, 2}, {1, 1}, {2, 2}, {3, 2}},
                                 {{4, 5}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {2, 3}}};  // the last window half outside
  for (int64_t width = 1; width <= 70; ++width)
    for (const int64_t stride : {1, 2})
      cases.push_back(
          {{6, width}, {3, 3}, {stride, stride}, {1, 1}, {1, 1}, {5 / stride + 1, (width - 1) / stride + 1}});
  for (const PoolCase& c : cases)
    for (const bool largest : {true, false}) {
      std::vector<float> x(static_cast<size_t>(c.in[0] * c.in[1]));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 37 + 11) % 101) - 80;
      const std::vector<float> truth = PoolTruth(c, largest, x);
      std::vector<float> y(truth.size() + 1, -99);
      PoolArgs args;
      args.largest = largest;
      args.x = x.data();
      args.y = y.data();
      for (size_t i = 0; i < 2; ++i) {
        args.in[i] = c.in[i];
        args.out[i] = c.out[i];
        args.kernel[i] = c.kernel[i];
        args.strides[i] = c.strides[i];
        args.dilations[i] = c.dilations[i];
        args.pads[i] = c.pads[i];
      }
      Pool(args);
      for (size_t i = 0; i < truth.size(); ++i)
        ASSERT_EQ(y[i], truth[i]) << c.in[0] << "x" << c.in[1] << ", element " << i << (largest ? ", max" : ", sum");
      ASSERT_EQ(y.back(), -99);
    }
}

}  // namespace
}  // namespace deputy::host::linalg
