#include "kernels/cast.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/dispatch.hpp"
#include "support/float_values.hpp"

namespace deputy::host {
namespace {

template <class Target, class Source>
Target CastOne(Source value) {
  Target result{};
  FindConvert(kDTypeOf<Source>, kDTypeOf<Target>)(&value, &result, 1);
  return result;
}

TEST(Cast, FloatIsTruncated) {
  EXPECT_EQ(CastOne<int32_t>(2.9f), 2);
  EXPECT_EQ(CastOne<int32_t>(-2.9f), -2);
}

TEST(Cast, FloatOutOfRangeGivesTheNearestInteger) {
  EXPECT_EQ(CastOne<int32_t>(3e9f), INT32_MAX);
  EXPECT_EQ(CastOne<int32_t>(-3e9f), INT32_MIN);
  EXPECT_EQ(CastOne<uint8_t>(-1.0f), 0);
  EXPECT_EQ(CastOne<uint8_t>(256.0f), 255);
  EXPECT_EQ(CastOne<int64_t>(0x1p63), INT64_MAX);
  EXPECT_EQ(CastOne<int64_t>(kInf), INT64_MAX);
  EXPECT_EQ(CastOne<uint64_t>(0x1p64f), UINT64_MAX);
}

TEST(Cast, LargestFloatBelowTheLimitIsExact) { EXPECT_EQ(CastOne<int32_t>(2147483520.0f), 2147483520); }

TEST(Cast, NanGivesZero) {
  EXPECT_EQ(CastOne<int64_t>(kNan), 0);
  EXPECT_EQ(CastOne<uint8_t>(Half{0x7e00}), 0);
}

TEST(Cast, IntegersKeepTheirLowBits) {
  EXPECT_EQ(CastOne<uint8_t>(int32_t{-1}), 255);
  EXPECT_EQ(CastOne<int8_t>(int32_t{300}), 44);
}

TEST(Cast, AnythingButZeroIsTrue) {
  EXPECT_TRUE(CastOne<bool>(0.25f));
  EXPECT_TRUE(CastOne<bool>(kNan));
  EXPECT_TRUE(CastOne<bool>(int64_t{1} << 40));
  EXPECT_FALSE(CastOne<bool>(-0.0f));
  EXPECT_FALSE(CastOne<bool>(Half{0x8000}));
}

TEST(Cast, BoolByteThatIsNotOneIsTrue) {
  const uint8_t odd[] = {0, 1, 2, 255};
  int32_t numbers[4];
  FindConvert(DType::kBool, DType::kInt32)(odd, numbers, 4);
  EXPECT_EQ(std::vector<int32_t>(numbers, numbers + 4), (std::vector<int32_t>{0, 1, 1, 1}));
}

TEST(Cast, StringsHaveNoConversion) {
  EXPECT_EQ(FindConvert(DType::kString, DType::kFloat32), nullptr);
  EXPECT_EQ(FindConvert(DType::kFloat32, DType::kUndefined), nullptr);
}

TEST(Cast, EveryPairOfStoredTypesHasAConversion) {
  for (int32_t from = 1; from <= 16; ++from) {
    for (int32_t to = 1; to <= 16; ++to) {
      const DType source = static_cast<DType>(from), target = static_cast<DType>(to);
      if (SizeOf(source) == 0 || SizeOf(target) == 0) continue;
      EXPECT_NE(FindConvert(source, target), nullptr) << from << " to " << to;
    }
  }
}

TEST(Cast, ThreadsCoverEveryElement) {
  std::vector<int32_t> source(100003);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int32_t>(i);
  std::vector<double> target(source.size(), -1);
  ThreadPool pool(3);
  ASSERT_TRUE(Cast(DType::kInt32, source.data(), DType::kFloat64, target.data(), 100003, pool));
  for (size_t i = 0; i < source.size(); ++i) ASSERT_EQ(target[i], static_cast<double>(i));
}

}  // namespace
}  // namespace deputy::host
