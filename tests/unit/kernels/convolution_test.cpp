#include "kernels/convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "unit/kernels/linalg_levels.hpp"

namespace deputy::host {
namespace {

struct Case {
  int64_t batch, group, channels, filters;  // channels and filters per group
  std::vector<int64_t> in, kernel, strides, dilations, pads;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.in.size() << "-d, " << c.group << " groups of " << c.channels << " to " << c.filters;
}

const Case kCases[] = {
    {1, 1, 3, 5, {9}, {3}, {1}, {1}, {1, 1}},                        // 1-D
    {2, 1, 4, 6, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},      // the usual
    {1, 1, 20, 40, {30, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // more than one tile
    {2, 1, 3, 4, {9, 10}, {3, 2}, {2, 3}, {1, 2}, {0, 1, 2, 3}},     // stride, dilation, uneven padding
    {2, 1, 8, 9, {5, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},      // one tap
    {1, 1, 8, 9, {5, 6}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},      // one tap with a stride
    {1, 1, 2, 40, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},     // small image, cut along the filters
    {2, 3, 2, 4, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},      // groups
    {2, 6, 1, 1, {7, 21}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},     // depthwise
    {1, 4, 1, 2, {9, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 0, 0}},      // depthwise with multiplier and stride
    {1, 4, 1, 1, {9, 11}, {3, 2}, {3, 2}, {2, 3}, {2, 3, 2, 1}},     // depthwise, dilated
    {1, 5, 1, 1, {31}, {4}, {2}, {1}, {3, 2}},                       // depthwise 1-D
    {1, 3, 1, 2, {4, 5, 6}, {2, 3, 3}, {1, 2, 1}, {1, 1, 2}, {1, 1, 2, 0, 1, 2}},  // depthwise 3-D
    {1, 2, 2, 3, {4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {2, 1, 1}, {1, 0, 1, 0, 1, 1}},  // 3-D
    {1, 1, 70, 30, {9, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},                 // deeper than one block
    {1, 1, 300, 30, {5, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},                 // one tap, deeper than one block
    {1, 1, 3, 16, {20, 75}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},                 // the first layer
    {1, 1, 3, 5, {40, 41}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},                  // the first layer
    {1, 3, 1, 1, {9, 35}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},                   // depthwise, more than one vector
    {1, 3, 1, 1, {11, 70}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},                  // depthwise, more than one vector
    {1, 2, 1, 1, {13, 34}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},                  // depthwise, large
    {1, 2, 1, 1, {13, 67}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},                  // depthwise, large
    {1, 2, 1, 1, {3, 3}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},                    // depthwise, larger than the plane
    {1, 2, 1, 1, {9, 40}, {3, 3}, {1, 2}, {2, 1}, {1, 0, 1, 2}},                   // depthwise, axes unlike each other
    {2, 2, 9, 10, {11, 13}, {3, 3}, {1, 1}, {1, 1}, {0, 2, 1, 0}},                 // groups, tiles beyond the edges
    {1, 1, 8, 100, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},                  // few tiles, many filters
    {1, 1, 8, 9, {40, 46}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},                  // many tiles
    {1, 1, 280, 8, {6, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},                  // deeper than a panel
    {2, 1, 20, 260, {4, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},                 // one tap, many filters
    {1, 1, 200, 50, {7, 9}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},                 // one tap with a stride, deep
    {1, 2, 1, 1, {2, 2}, {2, 2}, {5000, 5000}, {1, 1}, {0, 0, 0, 0}},              // a stride far beyond the input
};

std::vector<float> RandomValues(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> values(-8, 8);  // sums of products are exact
  std::vector<float> result(static_cast<size_t>(count));
  for (float& value : result) value = static_cast<float>(values(random)) / 4;
  return result;
}

int64_t Product(const std::vector<int64_t>& dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

// Element `flat` of a space of these extents.
std::vector<int64_t> Unflatten(int64_t flat, const std::vector<int64_t>& dims) {
  std::vector<int64_t> at(dims.size());
  for (size_t i = dims.size(); i-- > 0; flat /= dims[i]) at[i] = flat % dims[i];
  return at;
}

// Flat index of narrow * stride - pad + tap * dilation in `wide`, -1 outside.
int64_t WideIndex(const Case& c, const std::vector<int64_t>& wide, const std::vector<int64_t>& narrow,
                  const std::vector<int64_t>& tap) {
  int64_t index = 0;
  for (size_t i = 0; i < wide.size(); ++i) {
    const int64_t at = narrow[i] * c.strides[i] - c.pads[i] + tap[i] * c.dilations[i];
    if (at < 0 || at >= wide[i]) return -1;
    index = index * wide[i] + at;
  }
  return index;
}

ConvolutionShape ShapeOf(const Case& c, bool transposed) {
  WindowOptions options;
  options.kernel = c.kernel;
  options.strides = c.strides;
  options.dilations = c.dilations;
  options.pads = c.pads;
  ConvolutionShape shape;
  shape.window = MakeWindow(options).value();
  shape.batch = c.batch;
  shape.group = c.group;
  shape.in_channels = c.group * c.channels;
  shape.out_channels = c.group * c.filters;
  std::copy(c.in.begin(), c.in.end(), shape.in.begin());
  const Status status = transposed ? ResolveTransposedWindow(shape.window, c.in, shape.out)
                                   : ResolveWindow(shape.window, c.in, shape.out);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return shape;
}

template <class T>
std::vector<T> Compute(const ConvolutionShape& shape, bool transposed, const std::vector<float>& x,
                       const std::vector<float>& w, const std::vector<float>& bias, int64_t out_size, uint32_t threads,
                       const PackedWeights* packed = nullptr) {
  ThreadPool pool(threads);
  const std::vector<T> tx(x.begin(), x.end()), tw(w.begin(), w.end()), tbias(bias.begin(), bias.end());
  std::vector<T> y(static_cast<size_t>(shape.batch * shape.out_channels * out_size), T(-77));
  const size_t bytes =
      transposed ? TransposedConvolutionWorkspace<T>(shape, pool) : ConvolutionWorkspace<T>(shape, pool, packed);
  const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(64, (bytes / 64 + 1) * 64), std::free);
  const T* const b = tbias.empty() ? nullptr : tbias.data();
  if (transposed)
    ConvolveTransposed(shape, tx.data(), tw.data(), b, y.data(), workspace.get(), pool);
  else
    Convolve(shape, tx.data(), tw.data(), b, y.data(), workspace.get(), pool, packed);
  return y;
}

// The definition, element by element. Convolution sums over taps; its transpose spreads along the same pairs.
std::vector<float> Expected(const Case& c, bool transposed, const std::vector<float>& x, const std::vector<float>& w,
                            const std::vector<float>& bias, const std::vector<int64_t>& out) {
  const std::vector<int64_t>&narrow = transposed ? c.in : out, &wide = transposed ? out : c.in;
  const int64_t narrow_size = Product(narrow), taps = Product(c.kernel);
  const int64_t in_size = Product(c.in), out_size = Product(out);
  std::vector<float> y(static_cast<size_t>(c.batch * c.group * c.filters * out_size));
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = bias.empty() ? 0 : bias[i / static_cast<size_t>(out_size) % static_cast<size_t>(c.group * c.filters)];
  for (int64_t p = 0; p < narrow_size; ++p)
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t at = WideIndex(c, wide, Unflatten(p, narrow), Unflatten(t, c.kernel));
      if (at < 0) continue;
      for (int64_t image = 0; image < c.batch * c.group; ++image)
        for (int64_t f = 0; f < c.filters; ++f)
          for (int64_t ch = 0; ch < c.channels; ++ch) {
            const int64_t group = image % c.group;
            const int64_t weight = transposed ? ((group * c.channels + ch) * c.filters + f) * taps + t
                                              : ((group * c.filters + f) * c.channels + ch) * taps + t;
            const int64_t from = (image * c.channels + ch) * in_size + (transposed ? p : at);
            const int64_t to = (image * c.filters + f) * out_size + (transposed ? at : p);
            y[static_cast<size_t>(to)] += w[static_cast<size_t>(weight)] * x[static_cast<size_t>(from)];
          }
    }
  return y;
}

class ConvolutionTest : public ::testing::TestWithParam<Case> {
 protected:
  template <class T>
  void Check(bool transposed, bool with_bias, uint32_t threads, bool with_packed_weights = false) {
    const Case& c = GetParam();
    const ConvolutionShape shape = ShapeOf(c, transposed);
    const std::vector<int64_t> out(shape.out.begin(), shape.out.begin() + static_cast<ptrdiff_t>(c.in.size()));
    const std::vector<float> x = RandomValues(c.batch * shape.in_channels * Product(c.in), 1);
    const std::vector<float> w = RandomValues(shape.out_channels * c.channels * Product(c.kernel), 2);
    const std::vector<float> bias = with_bias ? RandomValues(shape.out_channels, 3) : std::vector<float>();
    const PackedWeights packed = with_packed_weights ? PackWeights(shape, w.data()) : PackedWeights();
    const std::vector<T> y = Compute<T>(shape, transposed, x, w, bias, Product(out), threads, &packed);
    const std::vector<float> expected = Expected(c, transposed, x, w, bias, out);
    ASSERT_EQ(y.size(), expected.size());
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(static_cast<float>(y[i]), expected[i]) << "element " << i;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, ConvolutionTest, ::testing::ValuesIn(kCases));

TEST_P(ConvolutionTest, AgreesWithTheDefinitionAtEveryLevel) {
  for (const linalg::Level level : linalg::AvailableLevels()) {
    SCOPED_TRACE(NameOf(level));
    const linalg::ForcedLevel forced(level);
    Check<float>(false, true, 1);
  }
}
TEST_P(ConvolutionTest, AgreesWithTheDefinitionOnThreeThreads) { Check<float>(false, false, 3); }
TEST_P(ConvolutionTest, OfDoublesAgreesWithTheDefinition) { Check<double>(false, true, 2); }
TEST_P(ConvolutionTest, WithPackedWeightsAgreesWithTheDefinitionAtEveryLevel) {
  for (const linalg::Level level : linalg::AvailableLevels()) {
    SCOPED_TRACE(NameOf(level));
    const linalg::ForcedLevel forced(level);
    Check<float>(false, true, 1, true);
  }
}
TEST_P(ConvolutionTest, WithPackedWeightsAgreesWithTheDefinitionOnThreeThreads) { Check<float>(false, false, 3, true); }

class TransposedConvolutionTest : public ConvolutionTest {};
// The last case's output would be large for no gain.
INSTANTIATE_TEST_SUITE_P(Cases, TransposedConvolutionTest,
                         ::testing::ValuesIn(std::begin(kCases), std::end(kCases) - 1));

TEST_P(TransposedConvolutionTest, AgreesWithTheDefinition) { Check<float>(true, true, 1); }
TEST_P(TransposedConvolutionTest, AgreesWithTheDefinitionOnThreeThreads) { Check<float>(true, false, 3); }
TEST_P(TransposedConvolutionTest, OfDoublesAgreesWithTheDefinition) { Check<double>(true, true, 2); }

// Networks whose last layer has one filter per class compare the results: rounding must not depend on the place.
TEST(Convolution, EqualFiltersGiveEqualResultsOnEveryNumberOfThreads) {
  const Case c = {1, 1, 37, 200, {13, 13}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}};
  const ConvolutionShape shape = ShapeOf(c, false);
  std::vector<float> x(37 * 169), w(200 * 37);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1e9f + static_cast<float>(i * 2654435761u % 100003) * 1e5f;
  for (size_t i = 0; i < w.size(); ++i) w[i] = 0.1f + static_cast<float>(i % 37) / 7;
  for (const uint32_t threads : {1u, 2u, 3u}) {
    const std::vector<float> y = Compute<float>(shape, false, x, w, {}, 169, threads);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], y[i % 169]) << "element " << i << ", " << threads << " threads";
  }
}

TEST(Convolution, WeightsForWinogradGiveTheSameResultsOnEveryNumberOfThreads) {
  const Case c = {1, 1, 37, 60, {31, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const ConvolutionShape shape = ShapeOf(c, false);
  std::vector<float> x(37 * 31 * 33), w(60 * 37 * 9);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1 + static_cast<float>(i * 2654435761u % 100003) / 7;
  for (size_t i = 0; i < w.size(); ++i) w[i] = 0.1f - static_cast<float>(i * 40503u % 1009) / 700;
  const PackedWeights packed = PackWeights(shape, w.data());
  ASSERT_EQ(packed.order, PackedWeights::Order::kWinograd);
  const std::vector<float> alone = Compute<float>(shape, false, x, w, {}, 31 * 33, 1, &packed);
  for (const uint32_t threads : {2u, 3u})
    EXPECT_EQ(Compute<float>(shape, false, x, w, {}, 31 * 33, threads, &packed), alone);
}

// Of random values, beside doubles: errors are those of plain sums.
TEST(Convolution, WeightsForWinogradRoundNoMoreThanPlainSums) {
  const Case c = {1, 1, 64, 16, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const ConvolutionShape shape = ShapeOf(c, false);
  std::mt19937 random(7);
  std::normal_distribution<float> values;
  std::vector<float> x(64 * 256), w(16 * 64 * 9);
  for (float& value : x) value = values(random);
  for (float& value : w) value = values(random);
  const PackedWeights packed = PackWeights(shape, w.data());
  const std::vector<double> exact = Compute<double>(shape, false, x, w, {}, 256, 1);
  const auto worst = [&](const std::vector<float>& y) {
    double most = 0;
    for (size_t i = 0; i < y.size(); ++i) most = std::max(most, std::fabs(static_cast<double>(y[i]) - exact[i]));
    return most;
  };
  EXPECT_LE(worst(Compute<float>(shape, false, x, w, {}, 256, 1, &packed)),
            1.5 * worst(Compute<float>(shape, false, x, w, {}, 256, 1)));
}

TEST(Convolution, AnInfinityReachesOnlyTheOutputsThatReadIt) {
  const Case c = {1, 1, 8, 8, {12, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const ConvolutionShape shape = ShapeOf(c, false);
  std::vector<float> x = RandomValues(8 * 144, 1), w(8 * 8 * 9, 1.0f);
  const PackedWeights packed = PackWeights(shape, w.data());
  ASSERT_EQ(packed.order, PackedWeights::Order::kWinograd);
  for (const float large : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 2e38f}) {
    x[5 * 12 + 4] = large;
    const std::vector<float> got = Compute<float>(shape, false, x, w, {}, 144, 2, &packed);
    const std::vector<float> want = Compute<float>(shape, false, x, w, {}, 144, 2);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i << ": " << got[i];
  }
  w[4] = std::numeric_limits<float>::infinity();
  EXPECT_NE(PackWeights(shape, w.data()).order, PackedWeights::Order::kWinograd);
}

TEST(Convolution, WeightsPackedForAnotherLevelAreNotRead) {
  const Case c = {1, 1, 20, 30, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const ConvolutionShape shape = ShapeOf(c, false);
  const std::vector<float> x = RandomValues(20 * 81, 1), w = RandomValues(30 * 20 * 9, 2);
  PackedWeights packed;
  {
    const linalg::ForcedLevel forced(linalg::Level::kBaseline);
    packed = PackWeights(shape, w.data());
  }
  EXPECT_EQ(Compute<float>(shape, false, x, w, {}, 81, 1, &packed), Compute<float>(shape, false, x, w, {}, 81, 1));
}

}  // namespace
}  // namespace deputy::host
