#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/reduce.hpp"

namespace deputy::host {
namespace {

template <class T>
std::vector<T> Apply(SoftmaxOp op, const AxisView& view, const std::vector<T>& source) {
  std::vector<T> target(source.size());
  ThreadPool pool(2);
  EXPECT_TRUE(Softmax(op, kDTypeOf<T>, view, source.data(), target.data(), pool));
  return target;
}

template <class T>
std::vector<T> Accumulate(CumulativeOp op, const AxisView& view, bool exclusive, bool reverse,
                          const std::vector<T>& source) {
  std::vector<T> target(source.size());
  ThreadPool pool(2);
  EXPECT_TRUE(Cumulate(op, kDTypeOf<T>, view, exclusive, reverse, source.data(), target.data(), pool));
  return target;
}

TEST(Softmax, LargeElementsDoNotOverflow) {
  const std::vector<float> got = Apply<float>(SoftmaxOp::kSoftmax, {1, 2, 1}, {10000, 10000});
  EXPECT_EQ(got, (std::vector<float>{0.5f, 0.5f}));
}

TEST(Softmax, MaskedElementsAreZero) {
  const float masked = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(Apply<float>(SoftmaxOp::kSoftmax, {1, 3, 1}, {masked, 1, masked}), (std::vector<float>{0, 1, 0}));
}

TEST(Softmax, NanSpreadsOverItsRowOnly) {
  const std::vector<float> got =
      Apply<float>(SoftmaxOp::kSoftmax, {2, 2, 1}, {std::numeric_limits<float>::quiet_NaN(), 1, 2, 2});
  EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
  EXPECT_EQ(got[2], 0.5f);
}

// 65,535 terms that are too small to be added to 1 one by one.
TEST(Softmax, SmallTermsOfAColumnAddUp) {
  std::vector<float> scores(2 * 65536, -17);
  scores[0] = scores[1] = 0;
  const double expected = 1 / (1 + 65535 * std::exp(-17.0));
  EXPECT_NEAR(Apply<float>(SoftmaxOp::kSoftmax, {1, 65536, 2}, scores)[1], expected, 1e-5);
  EXPECT_NEAR(Apply<float>(SoftmaxOp::kLogSoftmax, {1, 65536, 2}, scores)[1], std::log(expected), 1e-5);
}

// The same numbers along the last axis and along one with others inside it.
TEST(Softmax, ColumnsAgreeWithRows) {
  constexpr int64_t kExtent = 19, kInner = 70;
  for (const SoftmaxOp op : {SoftmaxOp::kSoftmax, SoftmaxOp::kLogSoftmax, SoftmaxOp::kHardmax}) {
    std::vector<double> rows, columns(kExtent * kInner);
    for (int64_t i = 0; i < kExtent * kInner; ++i) rows.push_back(std::sin(static_cast<double>(i) * 1.7) * 5);
    for (size_t i = 0; i < kInner; ++i)
      for (size_t k = 0; k < kExtent; ++k) columns[k * kInner + i] = rows[i * kExtent + k];
    const std::vector<double> from_rows = Apply(op, {kInner, kExtent, 1}, rows);
    const std::vector<double> from_columns = Apply(op, {1, kExtent, kInner}, columns);
    for (size_t i = 0; i < kInner; ++i)
      for (size_t k = 0; k < kExtent; ++k) ASSERT_NEAR(from_rows[i * kExtent + k], from_columns[k * kInner + i], 1e-12);
  }
}

TEST(Softmax, LogarithmOfTinySharesIsExact) {
  const std::vector<float> got = Apply<float>(SoftmaxOp::kLogSoftmax, {1, 2, 1}, {0, 200});
  EXPECT_FLOAT_EQ(got[0], -200);
  EXPECT_EQ(got[1], 0);
}

TEST(Softmax, HardmaxMarksTheFirstOfEquals) {
  EXPECT_EQ(Apply<float>(SoftmaxOp::kHardmax, {1, 4, 1}, {1, 3, 3, 2}), (std::vector<float>{0, 1, 0, 0}));
}

TEST(Softmax, EmptyAxisWritesNothing) { EXPECT_TRUE(Apply<float>(SoftmaxOp::kSoftmax, {3, 0, 1}, {}).empty()); }

TEST(Softmax, IntegersAreNotSupported) {
  ThreadPool pool(1);
  int32_t number = 0;
  EXPECT_FALSE(Softmax(SoftmaxOp::kSoftmax, DType::kInt32, {1, 1, 1}, &number, &number, pool));
}

TEST(CumulativeSum, OfIntegersWraps) {
  EXPECT_EQ(Accumulate<int32_t>(CumulativeOp::kSum, {1, 2, 1}, false, false, {INT32_MAX, 1}),
            (std::vector<int32_t>{INT32_MAX, INT32_MIN}));
}

// Two rows of three, along the columns of each and along the rows.
TEST(CumulativeProduct, StartsWithOneFromEitherEnd) {
  const std::vector<float> x = {2, 3, 4, 5, 6, 7};
  const auto products = [&](const AxisView& view, bool exclusive, bool reverse) {
    return Accumulate<float>(CumulativeOp::kProduct, view, exclusive, reverse, x);
  };
  EXPECT_EQ(products({2, 3, 1}, false, false), (std::vector<float>{2, 6, 24, 5, 30, 210}));
  EXPECT_EQ(products({2, 3, 1}, true, false), (std::vector<float>{1, 2, 6, 1, 5, 30}));
  EXPECT_EQ(products({2, 3, 1}, false, true), (std::vector<float>{24, 12, 4, 210, 42, 7}));
  EXPECT_EQ(products({2, 3, 1}, true, true), (std::vector<float>{12, 4, 1, 42, 7, 1}));
  EXPECT_EQ(products({1, 2, 3}, false, false), (std::vector<float>{2, 3, 4, 10, 18, 28}));
  EXPECT_EQ(products({1, 2, 3}, true, true), (std::vector<float>{5, 6, 7, 1, 1, 1}));
}

TEST(CumulativeProduct, OfIntegersWraps) {
  EXPECT_EQ(Accumulate<int32_t>(CumulativeOp::kProduct, {1, 2, 1}, false, false, {INT32_MAX, 2}),
            (std::vector<int32_t>{INT32_MAX, -2}));
}

}  // namespace
}  // namespace deputy::host
