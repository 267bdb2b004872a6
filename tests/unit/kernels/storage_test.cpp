#include "deputy/storage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cast.hpp"

namespace deputy::host {
namespace {

constexpr double kInfiniteDouble = std::numeric_limits<double>::infinity();
constexpr std::array kFloats = {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                                DType::kFloat8E5M2FNUZ, DType::kFloat4E2M1};

double Through(DType dtype, double value, bool saturate = true) {
  return double{DecodeStorage(dtype, EncodeStorage(dtype, value, {saturate, {}}))};
}

// The largest finite values, from the formats' papers.
TEST(Storage, TheLargestOfEachFloatIsAsDefined) {
  const std::array<double, 5> largest = {448, 240, 57344, 57344, 6};
  for (size_t i = 0; i < kFloats.size(); ++i) {
    EXPECT_EQ(Through(kFloats[i], 1e9), largest[i]) << NameOf(kFloats[i]);
    EXPECT_EQ(Through(kFloats[i], -kInfiniteDouble), -largest[i]) << NameOf(kFloats[i]);
  }
}

TEST(Storage, EveryCodeSurvivesTheWayThroughDouble) {
  for (const DType dtype : kFloats)
    for (int code = 0; code < 1 << BitsOf(dtype); ++code) {
      const float value = DecodeStorage(dtype, static_cast<uint8_t>(code));
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(EncodeStorage(dtype, double{value}, {}), code) << NameOf(dtype);
    }
}

TEST(Storage, HalvesBetweenTwoCodesGoToTheEvenOne) {
  for (const DType dtype : kFloats)
    for (int code = 0; code < (1 << (BitsOf(dtype) - 1)) - 1; ++code) {
      const float low = DecodeStorage(dtype, static_cast<uint8_t>(code));
      const float high = DecodeStorage(dtype, static_cast<uint8_t>(code + 1));
      if (!std::isfinite(high)) break;
      const double middle = (double{low} + double{high}) / 2;
      EXPECT_EQ(EncodeStorage(dtype, middle, {}), code % 2 == 0 ? code : code + 1) << NameOf(dtype) << " " << middle;
      EXPECT_EQ(EncodeStorage(dtype, std::nextafter(middle, 1e9), {}), code + 1) << NameOf(dtype) << " " << middle;
    }
}

TEST(Storage, WithoutSaturationWhatIsTooLargeIsInfinityOrNan) {
  EXPECT_EQ(Through(DType::kFloat8E5M2, 1e9, false), kInfiniteDouble);
  EXPECT_EQ(Through(DType::kFloat8E5M2, -kInfiniteDouble, false), -kInfiniteDouble);
  for (const DType dtype : {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2FNUZ}) {
    EXPECT_TRUE(std::isnan(Through(dtype, 1e9, false))) << NameOf(dtype);
    EXPECT_TRUE(std::isnan(Through(dtype, -kInfiniteDouble, false))) << NameOf(dtype);
  }
  EXPECT_EQ(Through(DType::kFloat8E4M3FN, 463.9, false), 448) << "half a step above the largest still rounds to it";
}

// Half a step above the largest: its code is even in one type alone.
TEST(Storage, AboveTheLargestHalfAStepGoesToTheEvenCode) {
  EXPECT_EQ(Through(DType::kFloat8E4M3FN, 464, false), 448);
  EXPECT_EQ(Through(DType::kFloat8E4M3FN, -464, false), -448);
  EXPECT_TRUE(std::isnan(Through(DType::kFloat8E4M3FN, std::nextafter(464, 465), false)));
  EXPECT_TRUE(std::isnan(Through(DType::kFloat8E4M3FNUZ, 248, false)));
  EXPECT_EQ(Through(DType::kFloat8E4M3FNUZ, std::nextafter(248, 0), false), 240);
  EXPECT_EQ(Through(DType::kFloat8E5M2, 61440, false), kInfiniteDouble);
  EXPECT_EQ(Through(DType::kFloat8E5M2, -61440, false), -kInfiniteDouble);
  EXPECT_EQ(Through(DType::kFloat8E5M2, std::nextafter(61440, 0), false), 57344);
  EXPECT_TRUE(std::isnan(Through(DType::kFloat8E5M2FNUZ, 61440, false)));
}

TEST(Storage, NumbersThatAreNoneStayNone) {
  const double nan = std::nan("");
  for (const DType dtype :
       {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0})
    EXPECT_TRUE(std::isnan(Through(dtype, nan))) << NameOf(dtype);
}

TEST(Storage, APowerOfTwoIsChosenAsAsked) {
  using Scale = Narrowing::Scale;
  const auto power = [](double value, Scale scale) {
    return double{DecodeStorage(DType::kFloat8E8M0, EncodeStorage(DType::kFloat8E8M0, value, {true, scale}))};
  };
  EXPECT_EQ(power(5, Scale::kUp), 8);
  EXPECT_EQ(power(5, Scale::kDown), 4);
  EXPECT_EQ(power(5, Scale::kNearest), 4);
  EXPECT_EQ(power(6, Scale::kNearest), 8);
  EXPECT_EQ(power(4, Scale::kUp), 4);
  EXPECT_EQ(power(1e300, Scale::kUp), std::ldexp(1.0, 127));
}

// The table of Cast-25; what is out of range is so before it is rounded.
TEST(Storage, APowerOfTwoOutOfRangeIsNanWithoutSaturation) {
  using Scale = Narrowing::Scale;
  constexpr double kLeast = 0x1p-127, kMost = 0x1p127;
  for (const Scale scale : {Scale::kUp, Scale::kDown, Scale::kNearest}) {
    const auto power = [scale](double value, bool saturate) {
      return double{DecodeStorage(DType::kFloat8E8M0, EncodeStorage(DType::kFloat8E8M0, value, {saturate, scale}))};
    };
    for (const double small : {0.0, 1e-300, 1e-40, std::nextafter(kLeast, 0)}) {
      EXPECT_EQ(power(small, true), kLeast) << small;
      EXPECT_TRUE(std::isnan(power(small, false))) << small;
    }
    for (const double large : {std::nextafter(kMost, kInfiniteDouble), 2.5e38, 1e300, kInfiniteDouble}) {
      EXPECT_EQ(power(large, true), kMost) << large;
      EXPECT_TRUE(std::isnan(power(large, false))) << large;
    }
    for (const double exact : {kLeast, 1.0, kMost}) EXPECT_EQ(power(exact, false), exact);
  }
}

TEST(Storage, FloatsBecomeTheNearestSmallInteger) {
  const std::array<double, 9> from = {1.5, 2.5, -1.5, -2.5, 3.2, 0.5, 6.7, -0.5, 0.49};
  const std::array<double, 9> to = {2, 2, -2, -2, 3, 0, 7, 0, 0};
  for (size_t i = 0; i < from.size(); ++i) EXPECT_EQ(Through(DType::kInt4, from[i]), to[i]) << from[i];
  EXPECT_EQ(Through(DType::kUint4, 12.7), 13);
  EXPECT_EQ(Through(DType::kUint4, 14.5), 14);
  EXPECT_EQ(Through(DType::kInt2, 0.6), 1);
  EXPECT_EQ(Through(DType::kInt2, -1.7), -2);
  EXPECT_EQ(Through(DType::kUint2, 2.5), 2);
  EXPECT_EQ(Through(DType::kInt4, std::nan("")), 0);
}

// From every type of fractions, also through a tensor.
TEST(Storage, CastsOfEveryFloatRound) {
  ThreadPool pool(1);
  const auto packed = [&](DType source, const void* values) {
    uint8_t bytes = 0;
    EXPECT_TRUE(CastStorage(source, values, DType::kInt4, &bytes, 2, {}, pool));
    return bytes;
  };
  const std::array<double, 2> doubles = {1.5, -2.75};  // to 2 and -3
  const std::array<float, 2> floats = {1.5f, -2.75f};
  const std::array<uint16_t, 2> halves = {0x3e00, 0xc180}, brain_floats = {0x3fc0, 0xc030};
  std::array<uint8_t, 2> bytes = {EncodeStorage(DType::kFloat8E4M3FN, 1.5, {}),
                                  EncodeStorage(DType::kFloat8E4M3FN, -2.75, {})};
  EXPECT_EQ(packed(DType::kFloat64, doubles.data()), 0xd2);
  EXPECT_EQ(packed(DType::kFloat32, floats.data()), 0xd2);
  EXPECT_EQ(packed(DType::kFloat16, halves.data()), 0xd2);
  EXPECT_EQ(packed(DType::kBFloat16, brain_floats.data()), 0xd2);
  EXPECT_EQ(packed(DType::kFloat8E4M3FN, bytes.data()), 0xd2);
}

TEST(Storage, SmallIntegersKeepTheirLowBits) {
  EXPECT_EQ(Through(DType::kInt4, -9), 7);
  EXPECT_EQ(Through(DType::kInt4, 200), -8);
  EXPECT_EQ(Through(DType::kUint4, -1), 15);
  EXPECT_EQ(Through(DType::kInt2, 2.2), -2);
  EXPECT_EQ(Through(DType::kInt2, 2.9), -1);
  EXPECT_EQ(Through(DType::kUint2, 7), 3);
}

TEST(Storage, IntegersKeepTheirLowBitsAmongEachOther) {
  ThreadPool pool(1);
  const std::array<int64_t, 2> large = {(int64_t{1} << 62) + 3, -5};
  uint8_t packed = 0;
  ASSERT_TRUE(CastStorage(DType::kInt64, large.data(), DType::kInt4, &packed, 2, {}, pool));
  EXPECT_EQ(packed, 0xb3);
  std::array<uint32_t, 2> wide = {};
  ASSERT_TRUE(CastStorage(DType::kInt4, &packed, DType::kUint32, wide.data(), 2, {}, pool));
  EXPECT_EQ(wide, (std::array<uint32_t, 2>{3, 0xfffffffb}));
}

TEST(Storage, TheFirstOfPackedElementsLiesInTheLowBits) {
  const std::vector<int8_t> bytes = {1, -2, 7};
  std::array<uint8_t, 2> packed = {0xff, 0xff};
  Pack(DType::kInt4, bytes.data(), 3, packed.data());
  EXPECT_EQ(packed[0], 0xe1);
  EXPECT_EQ(packed[1], 0x07) << "the bits to spare are 0";
  std::vector<int8_t> back(3);
  Unpack(DType::kInt4, packed.data(), 3, back.data());
  EXPECT_EQ(back, bytes);
}

TEST(Storage, ALongCastIsTheSameOnSeveralThreads) {
  std::vector<float> from(100'001);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i % 16) - 8;
  std::vector<uint8_t> packed(BytesOf(DType::kInt4, from.size()));
  ThreadPool pool(3);
  const auto count = static_cast<int64_t>(from.size());
  ASSERT_TRUE(CastStorage(DType::kFloat32, from.data(), DType::kInt4, packed.data(), count, {}, pool));
  std::vector<float> back(from.size());
  ASSERT_TRUE(CastStorage(DType::kInt4, packed.data(), DType::kFloat32, back.data(), count, {}, pool));
  EXPECT_EQ(back, from);
  EXPECT_FALSE(CastStorage(DType::kString, nullptr, DType::kInt4, packed.data(), 1, {}, pool));
}

}  // namespace
}  // namespace deputy::host
