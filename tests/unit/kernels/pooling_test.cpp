#include "kernels/pooling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace deputy::host {
namespace {

constexpr int64_t kHugeWindow = INT32_MAX;

struct PooledCase {
  std::vector<int64_t> in;
  std::vector<WindowAxis> axes;  // kernel, stride, dilation, pads
};

PoolShape PooledShapeOf(const PooledCase& one) {
  PoolShape shape;
  shape.planes = 2;
  shape.window.rank = one.axes.size();
  std::copy(one.axes.begin(), one.axes.end(), shape.window.axes.begin());
  std::copy(one.in.begin(), one.in.end(), shape.in.begin());
  EXPECT_TRUE(ResolvePoolWindow(shape.window, one.in, shape.out).ok());
  return shape;
}

SpatialDims PooledPositionOf(int64_t index, const SpatialDims& dims, size_t rank) {
  SpatialDims at = {};
  for (size_t i = rank; i-- > 0; index /= dims[i]) at[i] = index % dims[i];
  return at;
}

// What the definition gives for one output, without a look at taps outside the input.
struct PooledTruth {
  double largest = std::numeric_limits<double>::lowest(), sum = 0, inside = 0, padded = 1, all = 1;
  int64_t index = -1;
};

PooledTruth PooledTruthOf(const PoolShape& shape, const std::vector<float>& x, int64_t plane, int64_t output) {
  const size_t rank = shape.window.rank;
  const SpatialDims at = PooledPositionOf(output, shape.out, rank);
  PooledTruth truth;
  for (int64_t i = 0; i < host::Product(shape.in, rank); ++i) {
    const SpatialDims element = PooledPositionOf(i, shape.in, rank);
    bool is_inside = true;
    for (size_t d = 0; d < rank; ++d) {
      const WindowAxis& axis = shape.window.axes[d];
      const int64_t from_start = element[d] + axis.pad_begin - at[d] * axis.stride;
      is_inside &= from_start >= 0 && from_start % axis.dilation == 0 && from_start / axis.dilation < axis.kernel;
    }
    if (!is_inside) continue;
    const int64_t index = plane * host::Product(shape.in, rank) + i;
    const double value = static_cast<double>(x[static_cast<size_t>(index)]);
    truth.sum += value;
    truth.inside += 1;
    if (truth.index >= 0 && value <= truth.largest) continue;
    truth.largest = value;
    truth.index = index;
  }
  for (size_t d = 0; d < rank; ++d) {
    const WindowAxis& axis = shape.window.axes[d];
    const int64_t room = shape.in[d] + axis.pad_begin + axis.pad_end - at[d] * axis.stride;
    truth.all *= static_cast<double>(axis.kernel);
    truth.padded *= static_cast<double>(std::min(axis.kernel, (room + axis.dilation - 1) / axis.dilation));
  }
  return truth;
}

template <class T>
void ExpectPooled(const PoolShape& shape, const std::vector<float>& values) {
  ThreadPool pool(2);
  const std::vector<T> x(values.begin(), values.end());
  const int64_t size = host::Product(shape.out, shape.window.rank);
  const size_t count = static_cast<size_t>(shape.planes * size);
  std::vector<PooledTruth> truths;
  for (size_t i = 0; i < count; ++i)
    truths.push_back(PooledTruthOf(shape, values, static_cast<int64_t>(i) / size, static_cast<int64_t>(i) % size));
  std::vector<T> y(count), beside_indices(count);
  std::vector<int64_t> indices(count);
  MaxPool(shape, x.data(), y.data(), nullptr, false, pool);
  MaxPool(shape, x.data(), beside_indices.data(), indices.data(), false, pool);
  for (size_t i = 0; i < count; ++i) {
    const T largest = truths[i].index < 0 ? std::numeric_limits<T>::lowest() : static_cast<T>(truths[i].largest);
    ASSERT_EQ(y[i], largest) << i;
    ASSERT_EQ(beside_indices[i], largest) << i;
    ASSERT_EQ(indices[i], truths[i].index) << i;
  }
  if constexpr (std::numeric_limits<T>::has_infinity) {
    for (const PoolDivisor divisor : {PoolDivisor::kInside, PoolDivisor::kPadded, PoolDivisor::kAll}) {
      AveragePool(shape, x.data(), y.data(), divisor, pool);
      for (size_t i = 0; i < count; ++i) {
        const PooledTruth& truth = truths[i];
        const double taps = divisor == PoolDivisor::kAll      ? truth.all
                            : divisor == PoolDivisor::kPadded ? truth.padded
                                                              : std::max(1.0, truth.inside);
        ASSERT_FLOAT_EQ(static_cast<float>(y[i]), static_cast<float>(truth.sum / taps)) << i;
      }
    }
  }
}

void ExpectPooled(const PooledCase& one) {
  const PoolShape shape = PooledShapeOf(one);
  const int64_t size = host::Product(shape.in, shape.window.rank);
  std::vector<float> x(static_cast<size_t>(shape.planes * size));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 37 + 11) % 101) - 50;
  ExpectPooled<float>(shape, x);
  ExpectPooled<double>(shape, x);
  ExpectPooled<int8_t>(shape, x);
}

// Axes whose output has about the extent of the input.
WindowAxis SameAxis(int64_t kernel, int64_t stride = 1, int64_t dilation = 1) {
  const int64_t padding = (kernel - 1) * dilation;
  return {kernel, stride, dilation, padding / 2, padding - padding / 2};
}

TEST(Pooling, AWindowLargerThanTheInputEndsAtOnce) {
  ExpectPooled({{4}, {SameAxis(kHugeWindow)}});
  ExpectPooled({{40}, {SameAxis(kHugeWindow, 2)}});
  ExpectPooled({{6, 5}, {SameAxis(kHugeWindow), SameAxis(kHugeWindow)}});
  ExpectPooled({{6, 5}, {SameAxis(3), SameAxis(kHugeWindow)}});
  ExpectPooled({{6, 35}, {SameAxis(kHugeWindow, 2), SameAxis(kHugeWindow, 2)}});
  ExpectPooled({{3, 4, 5}, {SameAxis(kHugeWindow), SameAxis(kHugeWindow), SameAxis(kHugeWindow)}});
  ExpectPooled({{6, 70}, {{2, 1, 1, 0, 0}, {kHugeWindow, 3, 1, kHugeWindow, 0}}});
  ExpectPooled({{9}, {{kHugeWindow, 1, 1, 0, kHugeWindow}}});
}

TEST(Pooling, TapsFarOutsideTheInputAreSkipped) {
  ExpectPooled({{6, 5}, {SameAxis(kHugeWindow, 1, kHugeWindow), SameAxis(1 << 20, 1, kHugeWindow)}});
  ExpectPooled({{6, 5}, {SameAxis(kHugeWindow, 2, kHugeWindow), SameAxis(1 << 20, 2, kHugeWindow)}});
  ExpectPooled({{7, 50}, {SameAxis(5, 1, 4), SameAxis(kHugeWindow, 1, 7)}});
  ExpectPooled({{7, 50}, {SameAxis(5, 2, 4), SameAxis(kHugeWindow, 2, 7)}});
}

TEST(Pooling, StridesFarOverTheInputTakeNoTimeForThePadding) {
  ExpectPooled({{5}, {{kHugeWindow, kHugeWindow, 1, kHugeWindow, kHugeWindow}}});
  ExpectPooled({{3, 5}, {{2, 1, 1, 0, 1}, {kHugeWindow, kHugeWindow / 2, 3, kHugeWindow - 2, kHugeWindow}}});
}

TEST(Pooling, AnInputWithoutElementsGivesTheValueOfPadding) {
  ExpectPooled({{0}, {{kHugeWindow, 1 << 25, 1, kHugeWindow, kHugeWindow}}});
  ExpectPooled({{4, 0}, {SameAxis(3), {kHugeWindow, 1 << 25, 1, kHugeWindow, kHugeWindow}}});
  ExpectPooled({{int64_t{1} << 40, 0}, {{kHugeWindow, kHugeWindow, 1, 0, 0}, {2, 1, 1, 1, 1}}});
  ExpectPooled({{0, int64_t{1} << 40}, {{2, 1, 1, 1, 1}, {kHugeWindow, kHugeWindow, 1, 0, 0}}});
}

template <class T>
void ExpectLongRow() {
  constexpr int64_t kSize = 4500, kReach = 2250;
  PoolShape shape = PooledShapeOf({{kSize}, {SameAxis(2 * kReach + 1)}});
  shape.planes = 1;
  std::vector<T> x(kSize), largest(kSize), beside_indices(kSize), mean(kSize);
  std::iota(x.begin(), x.end(), T(0));
  std::vector<int64_t> indices(kSize);
  ThreadPool pool(1);
  MaxPool(shape, x.data(), largest.data(), nullptr, false, pool);
  MaxPool(shape, x.data(), beside_indices.data(), indices.data(), false, pool);
  AveragePool(shape, x.data(), mean.data(), PoolDivisor::kInside, pool);
  for (size_t i = 0; i < static_cast<size_t>(kSize); ++i) {
    const int64_t at = static_cast<int64_t>(i), last = std::min(at + kReach, kSize - 1);
    ASSERT_EQ(largest[i], static_cast<T>(last)) << i;
    ASSERT_EQ(beside_indices[i], static_cast<T>(last)) << i;
    ASSERT_EQ(indices[i], last) << i;
    ASSERT_EQ(mean[i], static_cast<T>(std::max<int64_t>(0, at - kReach) + last) / 2) << i;  // sums are exact
  }
}

TEST(Pooling, ALongRowIsPooledInParts) {
  ExpectLongRow<float>();
  ExpectLongRow<double>();
}

}  // namespace
}  // namespace deputy::host
