#include "kernels/reduce.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/dispatch.hpp"
#include "support/float_values.hpp"

namespace deputy::host {
namespace {

template <class T>
std::vector<T> ReduceAll(ReduceOp op, const std::vector<int64_t>& dims, const std::vector<uint8_t>& reduce,
                         const std::vector<T>& source) {
  const ReducePlan plan = PlanReduce(dims, reduce).value();
  std::vector<T> target(static_cast<size_t>(plan.kept.count));
  ThreadPool pool(2);
  EXPECT_TRUE(Reduce(op, kDTypeOf<T>, plan, source.data(), target.data(), pool));
  return target;
}

template <class T>
T ReduceList(ReduceOp op, const std::vector<T>& source) {
  return ReduceAll<T>(op, {static_cast<int64_t>(source.size())}, {1}, source)[0];
}

TEST(Reduce, AnySetOfAxesAddsTheElementsOfTheDefinition) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> dims(random() % 6);
    for (int64_t& dim : dims) dim = 1 + random() % 5;
    if (!dims.empty() && round % 5 == 0) dims.back() = 150;
    std::vector<uint8_t> reduce;
    for (size_t i = 0; i < dims.size(); ++i) reduce.push_back(random() % 2);
    std::vector<int32_t> source(static_cast<size_t>(ElementCount(dims)));
    for (int32_t& value : source) value = static_cast<int32_t>(random() % 100);
    const std::vector<int32_t> got = ReduceAll(ReduceOp::kSum, dims, reduce, source);

    std::vector<int32_t> wanted(got.size(), 0);
    for (size_t flat = 0; flat < source.size(); ++flat) {
      size_t rest = flat, at = 0, step = 1;
      for (size_t axis = dims.size(); axis-- > 0;) {
        const size_t extent = static_cast<size_t>(dims[axis]);
        if (reduce[axis] == 0) {
          at += rest % extent * step;
          step *= extent;
        }
        rest /= extent;
      }
      wanted[at] += source[flat];
    }
    ASSERT_EQ(got, wanted);
  }
}

TEST(Reduce, OverNoElements) {
  EXPECT_EQ(ReduceList<float>(ReduceOp::kSum, {}), 0);
  EXPECT_EQ(ReduceList<float>(ReduceOp::kProd, {}), 1);
  EXPECT_EQ(ReduceList<float>(ReduceOp::kMax, {}), -kInf);
  EXPECT_EQ(ReduceList<float>(ReduceOp::kMin, {}), kInf);
  EXPECT_EQ(ReduceList<float>(ReduceOp::kLogSum, {}), -kInf);
  EXPECT_EQ(ReduceList<float>(ReduceOp::kLogSumExp, {}), -kInf);
  EXPECT_TRUE(std::isnan(ReduceList<float>(ReduceOp::kMean, {})));
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kMean, {}), 0);
  EXPECT_EQ(ReduceList<int64_t>(ReduceOp::kMax, {}), INT64_MIN);
}

TEST(Reduce, ToNoElementsWritesNothing) { EXPECT_TRUE(ReduceAll<float>(ReduceOp::kSum, {0, 3}, {0, 1}, {}).empty()); }

TEST(Reduce, ExtremesKeepNan) {
  for (size_t count : {20u, 64u, 100u})  // with and without whole blocks of accumulators, and a rest
    for (size_t place = 0; place < count; ++place) {
      std::vector<float> values(count, 1.0f);
      values[place] = kNan;
      EXPECT_TRUE(std::isnan(ReduceList(ReduceOp::kMax, values))) << place << " of " << count;
      EXPECT_TRUE(std::isnan(ReduceList(ReduceOp::kMin, values))) << place << " of " << count;
      values[place] = 2;
      EXPECT_EQ(ReduceList(ReduceOp::kMax, values), 2) << place << " of " << count;
      values[place] = 0;
      EXPECT_EQ(ReduceList(ReduceOp::kMin, values), 0) << place << " of " << count;
    }
}

TEST(Reduce, ManySmallNumbersAreNotLostBesideALargeOne) {
  std::vector<float> values(100001, 1e-3f);
  values[0] = 1e5f;
  EXPECT_FLOAT_EQ(ReduceList(ReduceOp::kSum, values), 100100.0f);
}

TEST(Reduce, LogSumExpNeitherOverflowsNorUnderflows) {
  EXPECT_FLOAT_EQ(ReduceList<float>(ReduceOp::kLogSumExp, {1000, 1000}), 1000.6931f);
  EXPECT_FLOAT_EQ(ReduceList<float>(ReduceOp::kLogSumExp, {-1000, -1000}), -999.3069f);
}

TEST(Reduce, LogSumExpOfInfinities) {
  EXPECT_EQ(ReduceList<float>(ReduceOp::kLogSumExp, {-kInf, -kInf}), -kInf);
  EXPECT_EQ(ReduceList<float>(ReduceOp::kLogSumExp, {1, kInf, 2, kInf}), kInf);
  EXPECT_FLOAT_EQ(ReduceList<float>(ReduceOp::kLogSumExp, {-kInf, 3}), 3);
  EXPECT_TRUE(std::isnan(ReduceList<float>(ReduceOp::kLogSumExp, {1, kNan, 2})));
}

TEST(Reduce, MeanOfIntegersIsTruncated) {
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kMean, {-3, -4}), -3);
  EXPECT_EQ(ReduceList<uint32_t>(ReduceOp::kMean, {4000000000u, 4000000002u}), 4000000001u);
}

TEST(Reduce, AbsoluteSumOfTheLowestIntegerWraps) {
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kL1, {INT32_MIN}), INT32_MIN);
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kL1, {-3, 4}), 7);
}

TEST(Reduce, NormOfIntegersIsTruncated) { EXPECT_EQ(ReduceList<int64_t>(ReduceOp::kL2, {3, 3}), 4); }

TEST(Reduce, SmallIntegersHaveExtremesOnly) {
  EXPECT_EQ(ReduceList<int8_t>(ReduceOp::kMax, {-5, -3, -9}), -3);
  EXPECT_FALSE(SupportsReduce(ReduceOp::kSum, DType::kInt8));
  EXPECT_FALSE(SupportsReduce(ReduceOp::kMax, DType::kString));
}

TEST(ArgReduce, NanIsExtreme) {
  const std::vector<float> source = {1, kNan, 5, kNan};
  int64_t at = -1;
  ThreadPool pool(1);
  ASSERT_TRUE(ArgReduce(false, false, DType::kFloat32, {1, 4, 1}, source.data(), &at, pool).ok());
  EXPECT_EQ(at, 1);
  ASSERT_TRUE(ArgReduce(true, true, DType::kFloat32, {1, 4, 1}, source.data(), &at, pool).ok());
  EXPECT_EQ(at, 3);
}

TEST(ArgReduce, LowestNumbersAndZerosOfBothSignsAreInOrder) {
  ThreadPool pool(1);
  int64_t at = -1;
  const std::vector<int64_t> whole = {INT64_MAX, INT64_MIN, INT64_MIN + 1, INT64_MIN};
  ASSERT_TRUE(ArgReduce(false, false, DType::kInt64, {1, 4, 1}, whole.data(), &at, pool).ok());
  EXPECT_EQ(at, 1);
  ASSERT_TRUE(ArgReduce(false, true, DType::kInt64, {1, 4, 1}, whole.data(), &at, pool).ok());
  EXPECT_EQ(at, 3);
  ASSERT_TRUE(
      ArgReduce(false, false, DType::kUint8, {1, 3, 1}, std::vector<uint8_t>{255, 0, 128}.data(), &at, pool).ok());
  EXPECT_EQ(at, 1);
  const std::vector<float> zeros = {1, 0.0f, -0.0f, kInf};
  ASSERT_TRUE(ArgReduce(false, false, DType::kFloat32, {1, 4, 1}, zeros.data(), &at, pool).ok());
  EXPECT_EQ(at, 1);
  ASSERT_TRUE(ArgReduce(false, true, DType::kFloat32, {1, 4, 1}, zeros.data(), &at, pool).ok());
  EXPECT_EQ(at, 2);
}

// The operations that share a loop, over runs that are long enough for vectors, and of both signs.
TEST(Reduce, OperationsOfOneLoopDifferInTheirLastStep) {
  const std::vector<float> floats(100, 3.0f);
  EXPECT_FLOAT_EQ(ReduceList<float>(ReduceOp::kSum, floats), 300);
  EXPECT_FLOAT_EQ(ReduceList<float>(ReduceOp::kMean, floats), 3);
  EXPECT_FLOAT_EQ(ReduceList<float>(ReduceOp::kLogSum, floats), std::log(300.0f));
  EXPECT_FLOAT_EQ(ReduceList<float>(ReduceOp::kSumSquare, floats), 900);
  EXPECT_FLOAT_EQ(ReduceList<float>(ReduceOp::kL2, floats), 30);
  const std::vector<int32_t> whole(100, -3);
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kSum, whole), -300);
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kMean, whole), -3);
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kL1, whole), 300);
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kSumSquare, whole), 900);
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kL2, whole), 30);
  EXPECT_EQ(ReduceList<int32_t>(ReduceOp::kProd, std::vector<int32_t>{-3, 5, 7}), -105);
}

TEST(ArgReduce, AlongAnEmptyAxisIsRefusedUnlessThereIsNothingToTell) {
  int64_t at = -1;
  ThreadPool pool(1);
  EXPECT_FALSE(ArgReduce(true, false, DType::kFloat32, {2, 0, 3}, nullptr, &at, pool).ok());
  EXPECT_TRUE(ArgReduce(true, false, DType::kFloat32, {0, 0, 3}, nullptr, &at, pool).ok());
}

}  // namespace
}  // namespace deputy::host
