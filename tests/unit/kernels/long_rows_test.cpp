// Kernels whose rows or planes are so long that they are computed in parts, between which a run may end: the parts make
// the same results together, and nothing after the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

#include "base/cancellation.hpp"
#include "kernels/convolution.hpp"
#include "kernels/fourier.hpp"
#include "kernels/normalization.hpp"
#include "kernels/pooling.hpp"
#include "kernels/reduce.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kCount = kLongRow + 5;
constexpr double kLength = static_cast<double>(kCount);

class LongRowsTest : public testing::Test {
 protected:
  // 0, 1, 2, 0, ...
  LongRowsTest() : x_(static_cast<size_t>(kCount)), y_(x_.size(), -1) {
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 3);
    sum_ = std::accumulate(x_.begin(), x_.end(), 0.0);
  }
  float Reduced(ReduceOp op) {
    const int64_t dims[] = {kCount};
    const uint8_t all[] = {1};
    float result = -1;
    EXPECT_TRUE(Reduce(op, DType::kFloat32, *PlanReduce(dims, all), x_.data(), &result, pool_));
    return result;
  }

  ThreadPool pool_{1};
  std::vector<float> x_, y_;
  double sum_ = 0;
};

TEST_F(LongRowsTest, Reductions) {
  EXPECT_FLOAT_EQ(Reduced(ReduceOp::kSum), static_cast<float>(sum_));
  EXPECT_FLOAT_EQ(Reduced(ReduceOp::kMean), static_cast<float>(sum_ / kLength));
  EXPECT_FLOAT_EQ(Reduced(ReduceOp::kL1), static_cast<float>(sum_));
  x_.back() = 7;
  EXPECT_EQ(Reduced(ReduceOp::kMax), 7);
}

TEST_F(LongRowsTest, Softmaxes) {
  const AxisView view{1, kCount, 1};
  double powers = 0;
  for (const float value : x_) powers += std::exp(static_cast<double>(value) - 2);
  ASSERT_TRUE(Softmax(SoftmaxOp::kSoftmax, DType::kFloat32, view, x_.data(), y_.data(), pool_));
  for (const int64_t i : {int64_t{0}, int64_t{1}, kLongRow - 1, kLongRow, kCount - 1})
    EXPECT_NEAR(y_[static_cast<size_t>(i)] * powers, std::exp(x_[static_cast<size_t>(i)] - 2.0), 1e-3) << i;
  ASSERT_TRUE(Softmax(SoftmaxOp::kLogSoftmax, DType::kFloat32, view, x_.data(), y_.data(), pool_));
  for (const int64_t i : {int64_t{0}, int64_t{1}, kLongRow - 1, kLongRow, kCount - 1})
    EXPECT_NEAR(y_[static_cast<size_t>(i)], x_[static_cast<size_t>(i)] - 2.0 - std::log(powers), 1e-3) << i;
}

TEST_F(LongRowsTest, CumulativeSumsAndTheLargest) {
  const AxisView view{1, kCount, 1};
  ASSERT_TRUE(Cumulate(CumulativeOp::kSum, DType::kFloat32, view, false, false, x_.data(), y_.data(), pool_));
  EXPECT_EQ(y_.back(), sum_);  // integers below 2^24
  x_.back() = 7;
  int64_t largest = -1;
  ASSERT_TRUE(ArgReduce(true, false, DType::kFloat32, view, x_.data(), &largest, pool_).ok());
  EXPECT_EQ(largest, kCount - 1);
}

TEST_F(LongRowsTest, Normalizations) {
  double squares = 0;
  const double mean = sum_ / kLength;
  for (const float value : x_) squares += (value - mean) * (value - mean);
  const double inverse = 1 / std::sqrt(squares / kLength);
  const std::vector<float> scale(x_.size(), 2);
  LayerNormalization<float> args;
  args.rows = 1;
  args.size = kCount;
  args.x = x_.data();
  args.scale = scale.data();
  args.y = y_.data();
  LayerNormalize(args, pool_);
  for (const int64_t i : {int64_t{0}, kLongRow, kCount - 1})
    EXPECT_NEAR(y_[static_cast<size_t>(i)], (x_[static_cast<size_t>(i)] - mean) * inverse * 2, 1e-4) << i;
  const float two = 2, one = 1;
  InstanceNormalize({1, 1, kCount}, x_.data(), &two, &one, 0, y_.data(), pool_);
  for (const int64_t i : {int64_t{0}, kLongRow, kCount - 1})
    EXPECT_NEAR(y_[static_cast<size_t>(i)], (x_[static_cast<size_t>(i)] - mean) * inverse * 2 + 1, 1e-4) << i;
  NormNormalize({1, kCount, 1}, 1, x_.data(), y_.data(), pool_);
  EXPECT_FLOAT_EQ(y_[static_cast<size_t>(kLongRow)], static_cast<float>(x_[static_cast<size_t>(kLongRow)] / sum_));
}

TEST_F(LongRowsTest, NothingIsMadeAfterTheEnd) {
  const std::atomic<uint64_t> cancelled{1};
  const CancellationToken stop{0, &cancelled};
  CancellationScope scope(&stop);
  int parts = 0;
  InParts(kCount, kLongRow, [&](int64_t, int64_t) { ++parts; });
  EXPECT_EQ(parts, 0);
  EXPECT_TRUE(scope.stopped());
  InParts(kLongRow, kLongRow, [&](int64_t, int64_t) { ++parts; });  // a single part is not asked about
  EXPECT_EQ(parts, 1);
}

// Each of these would take minutes.
TEST_F(LongRowsTest, ManyNeighboursEndWithTheRun) {
  const CancellationToken stop{NowNs() + 1'000'000, nullptr};
  const CancellationScope scope(&stop);
  NormalizeResponse({1, kCount, 1}, ResponseNormalization{INT64_MAX, 1, 1, 1}, x_.data(), y_.data(), pool_);
  EXPECT_TRUE(scope.stopped());
}

TEST_F(LongRowsTest, LongWindowsEndWithTheRun) {
  PoolShape shape;
  shape.planes = 1;
  shape.window.rank = 1;
  shape.window.axes[0].kernel = shape.in[0] = shape.out[0] = kCount;
  shape.window.axes[0].pad_begin = kCount / 2;
  const std::vector<double> wide(x_.begin(), x_.end());
  std::vector<double> wide_y(wide.size());
  std::vector<int64_t> indices(x_.size());
  const std::vector<std::function<void()>> pools = {
      [&] { MaxPool(shape, x_.data(), y_.data(), nullptr, false, pool_); },
      [&] { MaxPool(shape, x_.data(), y_.data(), indices.data(), false, pool_); },
      [&] { MaxPool(shape, wide.data(), wide_y.data(), nullptr, false, pool_); },
      [&] { AveragePool(shape, x_.data(), y_.data(), PoolDivisor::kInside, pool_); },
      [&] { AveragePool(shape, wide.data(), wide_y.data(), PoolDivisor::kInside, pool_); }};
  for (const auto& pool : pools) {
    const CancellationToken stop{NowNs() + 1'000'000, nullptr};
    const CancellationScope scope(&stop);
    pool();
    EXPECT_TRUE(scope.stopped());
  }
}

TEST_F(LongRowsTest, PartsCoverTheRowOnce) {
  std::vector<std::pair<int64_t, int64_t>> parts;
  InParts(10, 4, [&](int64_t begin, int64_t end) { parts.emplace_back(begin, end); });
  EXPECT_EQ(parts, (std::vector<std::pair<int64_t, int64_t>>{{0, 4}, {4, 8}, {8, 10}}));
  parts.clear();
  InParts(4, 4, [&](int64_t begin, int64_t end) { parts.emplace_back(begin, end); });
  EXPECT_EQ(parts, (std::vector<std::pair<int64_t, int64_t>>{{0, 4}}));
}

TEST_F(LongRowsTest, FourierTransformsOfALongLine) {
  constexpr int64_t kLine = 1 << 20;
  std::vector<double> memory(FourierMemory(kLine)), line(2 * kLine, 0.0);
  PrepareFourier(kLine, memory.data());
  line[2] = 1;  // an impulse at 1 gives the roots of unity
  Transform(kLine, false, line.data(), memory.data());
  for (const int64_t k : {int64_t{0}, int64_t{3}, kLine / 2, kLine - 1}) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(kLine);
    EXPECT_NEAR(line[static_cast<size_t>(2 * k)], std::cos(angle), 1e-9) << k;
    EXPECT_NEAR(line[static_cast<size_t>(2 * k + 1)], std::sin(angle), 1e-9) << k;
  }
}

// A plane whose outputs are computed in several bands of rows.
class BandsTest : public testing::Test {
 protected:
  static constexpr int64_t kSide = 200, kKernel = 121, kPad = 60, kOut = 200;

  BandsTest() : x_(kSide * kSide), y_(kOut * kOut) {
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i * 7919 % 1009);
    const std::vector<int64_t> kernel(2, kKernel), pads(4, kPad), in(2, kSide);
    WindowOptions options;
    options.kernel = kernel;
    options.pads = pads;
    window_ = MakeWindow(options).value();
    EXPECT_TRUE(ResolveWindow(window_, in, out_).ok());
  }
  // Calls fn(value) for the inputs under the window of an output.
  template <class F>
  void ForEachInput(int64_t row, int64_t column, F fn) {
    for (int64_t i = std::max<int64_t>(0, row - kPad); i < std::min(kSide, row - kPad + kKernel); ++i)
      for (int64_t j = std::max<int64_t>(0, column - kPad); j < std::min(kSide, column - kPad + kKernel); ++j)
        fn(x_[static_cast<size_t>(i * kSide + j)]);
  }
  float At(int64_t row, int64_t column) const { return y_[static_cast<size_t>(row * kOut + column)]; }

  static constexpr int64_t kRows[] = {0, 1, 21, 22, 23, 45, 99, 150, 198, 199};

  ThreadPool pool_{1};
  std::vector<float> x_, y_;
  Window window_;
  SpatialDims out_ = {};
};

TEST_F(BandsTest, Pools) {
  PoolShape shape;
  shape.planes = 1;
  shape.window = window_;
  shape.in[0] = shape.in[1] = kSide;
  shape.out = out_;
  MaxPool(shape, x_.data(), y_.data(), nullptr, false, pool_);
  for (const int64_t row : kRows) {
    float largest = -1;
    ForEachInput(row, 7, [&](float value) { largest = std::max(largest, value); });
    EXPECT_EQ(At(row, 7), largest) << row;
  }
  AveragePool(shape, x_.data(), y_.data(), PoolDivisor::kInside, pool_);
  for (const int64_t row : kRows) {
    double sum = 0, count = 0;
    ForEachInput(row, 7, [&](float value) { sum += value, ++count; });
    EXPECT_NEAR(At(row, 7), sum / count, 1e-2) << row;
  }
}

TEST_F(BandsTest, DepthwiseConvolutions) {
  ConvolutionShape shape;
  shape.batch = 1;
  shape.group = shape.in_channels = shape.out_channels = 2;  // one group alone is no depthwise convolution
  shape.window = window_;
  shape.in[0] = shape.in[1] = kSide;
  shape.out = out_;
  ASSERT_TRUE(IsDepthwise(shape));
  std::vector<float> x = x_, y(2 * y_.size());
  x.insert(x.end(), x_.begin(), x_.end());
  const std::vector<float> weights(2 * kKernel * kKernel, 0.5f), bias = {1, 2};
  const AlignedBytes workspace = AllocateAligned(DepthwiseWorkspace<float>(shape, pool_));
  ConvolveDepthwise(shape, x.data(), weights.data(), bias.data(), y.data(), workspace.get(), pool_);
  for (const int64_t row : kRows) {
    double sum = 0;
    ForEachInput(row, 7, [&](float value) { sum += value / 2.0; });
    EXPECT_NEAR(y[static_cast<size_t>(row * kOut + 7)], sum + 1, sum * 1e-5) << row;
    EXPECT_NEAR(y[y_.size() + static_cast<size_t>(row * kOut + 7)], sum + 2, sum * 1e-5) << row;
  }
}

}  // namespace
}  // namespace deputy::host
