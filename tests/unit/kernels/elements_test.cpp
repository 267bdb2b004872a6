#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/linalg/rows.hpp"
#include "support/float_values.hpp"
#include "unit/kernels/linalg_levels.hpp"

namespace deputy::host::linalg {
namespace {

class ElementsTest : public LevelTest {};
INSTANTIATE_TEST_SUITE_P(Levels, ElementsTest, ::testing::ValuesIn(AvailableLevels()), LevelName);

std::vector<float> RandomRow(int64_t count, float limit) {
  std::mt19937 random(static_cast<uint32_t>(count + 1));
  std::uniform_real_distribution<float> values(-limit, limit);
  std::vector<float> row(static_cast<size_t>(count));
  for (float& value : row) value = values(random);
  return row;
}

int32_t TruthOfTruncate(float x) {
  if (std::isnan(x)) return 0;
  return static_cast<int32_t>(std::clamp(std::trunc(static_cast<double>(x)), -2147483648.0, 2147483647.0));
}

TEST_P(ElementsTest, BytesAreWidenedPairedAndComparedAtEveryLength) {
  std::mt19937 random(11);
  for (int64_t count = 0; count <= 70; ++count) {
    const auto length = static_cast<size_t>(count);
    std::vector<uint8_t> a(length), b(length);
    for (uint8_t& byte : a) byte = static_cast<uint8_t>(random());
    for (uint8_t& byte : b) byte = static_cast<uint8_t>(random());
    for (const bool is_signed : {false, true}) {
      const auto number = [&](uint8_t byte) { return is_signed ? int32_t{static_cast<int8_t>(byte)} : int32_t{byte}; };
      const int32_t zero = is_signed ? -128 : 255;
      std::vector<int16_t> wide(length + 1, 77);
      std::vector<int32_t> pairs(length + 1, 77);
      std::vector<uint8_t> larger = a;
      larger.push_back(77);
      WidenBytes(a.data(), count, is_signed, zero, wide.data());
      PairBytes(a.data(), b.data(), count, is_signed, zero, pairs.data());
      LargerBytes(larger.data(), b.data(), count, is_signed, larger.data());
      for (size_t i = 0; i < length; ++i) {
        ASSERT_EQ(wide[i], number(a[i]) - zero);
        ASSERT_EQ(static_cast<int16_t>(pairs[i]), number(a[i]) - zero);
        ASSERT_EQ(pairs[i] >> 16, number(b[i]) - zero);
        ASSERT_EQ(number(larger[i]), std::max(number(a[i]), number(b[i])));
      }
      ASSERT_EQ(wide.back(), 77);
      ASSERT_EQ(pairs.back(), 77);
      ASSERT_EQ(larger.back(), 77);
    }
  }
}

TEST_P(ElementsTest, TruncateSaturatesAtEveryLength) {
  const float odd[] = {kNan, kInf, -kInf, 2147483648.0f, 2147483520.0f, -2147483648.0f, -3e9f, -0.9f, 1.9f};
  for (int64_t count = 0; count <= 70; ++count) {
    std::vector<float> x = RandomRow(count, 4e9f);
    for (size_t i = 0; i < x.size(); i += 3) x[i] = odd[i / 3 % std::size(odd)];
    std::vector<int32_t> y(x.size() + 1, -99);
    Truncate(x.data(), count, y.data());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], TruthOfTruncate(x[i])) << x[i];
    ASSERT_EQ(y.back(), -99);
  }
}

int32_t TruthOfQuantize(double value, ByteRange range) {
  if (std::isnan(value)) return range.lowest;
  return static_cast<int32_t>(
      std::clamp(std::nearbyint(value) + range.zero_point, double(range.lowest), double(range.largest)));
}

TEST_P(ElementsTest, QuantizeRoundsHalvesToEvenAndSaturatesAtEveryLength) {
  for (const ByteRange range : {ByteRange{128, 0, 255}, ByteRange{-3, -128, 127}, ByteRange{0, 0, 255}})
    for (int64_t count = 0; count <= 70; ++count) {
      std::vector<float> x = RandomRow(count, 100);
      if (count > 10) {
        x[1] = kNan;
        x[3] = kInf;
        x[4] = -kInf;
        x[6] = 1.25f;  // two halves
        x[7] = -0.75f;
      }
      std::vector<uint8_t> y(x.size() + 1, 77);
      Quantize(x.data(), count, 0.5f, range, y.data());
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(y[i], static_cast<uint8_t>(TruthOfQuantize(static_cast<double>(x[i] / 0.5f), range))) << x[i];
      ASSERT_EQ(y.back(), 77);
    }
}

TEST_P(ElementsTest, RequantizeScalesByOneMultiplierOrMany) {
  const ByteRange range{10, 0, 255};
  for (int64_t count = 0; count <= 70; ++count)
    for (const int64_t step : {0, 1}) {
      const std::vector<float> drawn = RandomRow(count + 1, 100000), multipliers = RandomRow(count + 1, 0.01f);
      const std::vector<int32_t> x(drawn.begin(), drawn.end() - 1);
      std::vector<uint8_t> y(x.size() + 1, 77);
      Requantize(x.data(), count, multipliers.data(), step, range, y.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const float scaled = static_cast<float>(x[i]) * multipliers[step == 0 ? 0 : i];
        ASSERT_EQ(y[i], static_cast<uint8_t>(TruthOfQuantize(static_cast<double>(scaled), range)));
      }
      ASSERT_EQ(y.back(), 77);
    }
}

}  // namespace
}  // namespace deputy::host::linalg
