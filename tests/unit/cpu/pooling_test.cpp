#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/float_values.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

PrimitiveBuilder MaxPool(Ints kernel) { return PrimitiveBuilder("", "MaxPool", 12).Set("kernel_shape", kernel); }
PrimitiveBuilder AveragePool(Ints kernel) {
  return PrimitiveBuilder("", "AveragePool", 19).Set("kernel_shape", kernel);
}

Floats Pool(Maker make, const PrimitiveBuilder& builder, Tensor x) {
  return ValuesOf<float>(RunNode(make, builder, {std::move(x)})[0]);
}

template <class T>
std::vector<float> PoolBytes(const PrimitiveBuilder& builder, const Shape& shape, const Floats& x) {
  const std::vector<T> bytes(x.begin(), x.end());
  const std::vector<T> y = ValuesOf<T>(RunNode(MakeMaxPool, builder, {TensorOf<T>(shape, bytes)})[0]);
  return Floats(y.begin(), y.end());
}

// Every window has an element.
TEST(MaxPoolOnCpu, BytesArePooledLikeFloats) {
  struct {
    Shape x;
    Ints kernel, strides, pads, dilations;
  } const cases[] = {{{2, 3, 9, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
                     {{1, 2, 130, 140}, {3, 2}, {2, 1}, {0, 0, 0, 0}, {1, 1}},  // several bands
                     {{1, 2, 40, 7}, {5, 3}, {1, 3}, {4, 0, 0, 2}, {2, 3}},
                     {{1, 2, 6, 5000}, {4, 3}, {1, 2}, {0, 1, 0, 1}, {1, 1}},
                     {{1, 3, 50}, {4}, {3}, {1, 2}, {1}},
                     {{1, 2, 4, 5, 6}, {2, 2, 3}, {1, 2, 2}, {0, 0, 0, 1, 1, 1}, {1, 1, 1}}};
  std::mt19937 random(3);
  for (const auto& one : cases) {
    Floats x(static_cast<size_t>(ElementCount(one.x)));
    for (float& value : x) value = static_cast<float>(random() % 100);
    const PrimitiveBuilder builder =
        MaxPool(one.kernel).Set("strides", one.strides).Set("pads", one.pads).Set("dilations", one.dilations);
    const Floats wanted = Pool(MakeMaxPool, builder, TensorOf<float>(one.x, x));
    EXPECT_EQ(PoolBytes<uint8_t>(builder, one.x, x), wanted) << one.x[2];
    for (float& value : x) value -= 50;
    Floats lower = wanted;
    for (float& value : lower) value -= 50;
    EXPECT_EQ(PoolBytes<int8_t>(builder, one.x, x), lower) << one.x[2];
  }
}

// As in ONNX Runtime.
TEST(MaxPoolOnCpu, AWindowThatReachesNoElementGivesTheLowestNumber) {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  const PrimitiveBuilder plane = MaxPool({3, 4})
                                     .Set("strides", Ints{3, 4})
                                     .Set("dilations", Ints{1, 2})
                                     .Set("pads", Ints{2, 3, 2, 2})
                                     .Set("ceil_mode", int64_t{1});
  const Tensor column = TensorOf<float>({1, 1, 4, 1}, {1, 2, 3, 4});
  EXPECT_EQ(Pool(MakeMaxPool, plane, column), (Floats{lowest, lowest}));
  EXPECT_EQ(ValuesOf<double>(RunNode(MakeMaxPool, plane, {TensorOf<double>({1, 1, 4, 1}, {1, 2, 3, 4})})[0]),
            std::vector<double>(2, std::numeric_limits<double>::lowest()));
  // Beside a window whose only element is minus infinity.
  const PrimitiveBuilder row = MaxPool({2}).Set("dilations", Ints{3}).Set("pads", Ints{1, 2});
  const Tensor two = TensorOf<float>({1, 1, 2}, {-kInf, 5});
  EXPECT_EQ(Pool(MakeMaxPool, row, two), (Floats{lowest, -kInf}));
  const auto y = RunNode(MakeMaxPool, row, {two}, {.outputs = 2});
  EXPECT_EQ(ValuesOf<float>(y[0]), (Floats{lowest, -kInf}));
  EXPECT_EQ(ValuesOf<int64_t>(y[1]), (Ints{-1, 0}));
}

TEST(MaxPoolOnCpu, ManyPlanesOverThreads) {
  std::vector<float> x(40 * 64 * 64), expected;
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 1000);
  for (size_t p = 0; p < 40; ++p)
    for (size_t r = 0; r < 32; ++r)
      for (size_t c = 0; c < 32; ++c) {
        const float* at = &x[(p * 64 + 2 * r) * 64 + 2 * c];
        expected.push_back(std::max(std::max(at[0], at[1]), std::max(at[64], at[65])));
      }
  EXPECT_EQ(Pool(MakeMaxPool, MaxPool({2, 2}).Set("strides", Ints{2, 2}), TensorOf<float>({4, 10, 64, 64}, x)),
            expected);
}

// ONNX Runtime's results for a window larger than the padded input.
Tensor Small() { return TensorOf<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}); }
PrimitiveBuilder Large(const char* op_type, int32_t since, Ints kernel = {3, 4}) {
  return PrimitiveBuilder("", op_type, since).Set("strides", Ints(kernel.size(), 2)).Set("kernel_shape", kernel);
}

// Of 4 x 4 taps 3 x 3 are in the input and its padding; the definitions before 19 count them all, but for ceil_mode.
TEST(AveragePoolOnCpu, TapsBehindThePaddingCountInOldDefinitions) {
  const auto average = [](int32_t since, int64_t ceil) {
    const PrimitiveBuilder builder = Large("AveragePool", since, {4, 4})
                                         .Set("pads", Ints{0, 0, 1, 0})
                                         .Set("count_include_pad", int64_t{1})
                                         .Set("ceil_mode", ceil);
    return Pool(MakeAveragePool, builder, Small())[0];
  };
  EXPECT_FLOAT_EQ(average(19, 0), 21.0f / 9);
  EXPECT_FLOAT_EQ(average(11, 0), 21.0f / 16);
  EXPECT_FLOAT_EQ(average(11, 1), 21.0f / 9);
}

constexpr int64_t kHuge = INT32_MAX;

TEST(AveragePoolOnCpu, AHugeWindowOverPaddingSumsTheWholeInput) {
  const PrimitiveBuilder builder =
      AveragePool({3, kHuge}).Set("pads", Ints{1, kHuge / 2, 0, kHuge / 2}).Set("count_include_pad", int64_t{1});
  const Floats y = Pool(MakeAveragePool, builder, TensorOf<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(y.size(), 3u);
  for (const float value : y) EXPECT_FLOAT_EQ(value, 21.0f / 3 / static_cast<float>(kHuge));
}

TEST(LpPoolOnCpu, AHugeWindowIsTheNormOfTheWholeInput) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "LpPool", 18)
                                       .Set("kernel_shape", Ints{kHuge, kHuge, kHuge})
                                       .Set("strides", Ints{kHuge, kHuge, kHuge});
  EXPECT_EQ(Pool(MakeLpPool, builder, TensorOf<float>({1, 2, 1, 2, 1}, {3, 4, 5, 12})), (Floats{5, 13}));
  EXPECT_EQ(
      Pool(MakeLpPool, PrimitiveBuilder(builder).Set("pads", Ints{0, 0, kHuge, 0, 0, kHuge}), Zeros({1, 1, 2, 2, 0})),
      (Floats{0, 0}));
}

TEST(AveragePoolOnCpu, PaddingAtTheEndCounts) {
  const PrimitiveBuilder builder =
      AveragePool({2}).Set("pads", Ints{0, 1}).Set("strides", Ints{2}).Set("count_include_pad", int64_t{1});
  EXPECT_EQ(Pool(MakeAveragePool, builder, TensorOf<float>({1, 1, 3}, {1, 2, 3})), (Floats{1.5f, 1.5f}));
}

TEST(AveragePoolOnCpu, IntegersAreNotSupported) {
  EXPECT_EQ(TryRunNode(MakeAveragePool, AveragePool({1}), {TensorOf<int8_t>({1, 1, 1}, {1})}).status().code(),
            StatusCode::kNotSupported);
}

TEST(GlobalPoolOnCpu, NothingToPoolIsRefused) {
  EXPECT_EQ(TryRunNode(MakeGlobalAveragePool, PrimitiveBuilder("", "GlobalAveragePool", 1),
                       {Tensor::Allocate(DType::kFloat32, {1, 2, 0}).value()})
                .status()
                .code(),
            StatusCode::kModel);
}

// As in Max and ReduceMax: by vectors and by rows, at every place of a window, with and without indices.
TEST(MaxPoolOnCpu, NanUnderAWindowIsItsLargestElement) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  const auto expect = [](const Floats& got, const Floats& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(got[i]) : got[i] == wanted[i]) << i << ": " << got[i];
  };
  const PrimitiveBuilder pairs = MaxPool({2}).Set("strides", Ints{2});
  expect(Pool(MakeMaxPool, pairs, TensorOf<float>({1, 1, 10}, {kNan, 1, 2, kNan, 5, 6, -kInf, -kInf, kNan, kNan})),
         {kNan, kNan, 6, -kInf, kNan});
  for (const Ints& strides : {Ints{1, 1}, Ints{2, 2}, Ints{3, 3}})
    for (int64_t at = 0; at < 9; ++at) {
      Floats x(9, 1), plain = x;
      x[static_cast<size_t>(at)] = kNan;
      const PrimitiveBuilder whole = MaxPool({3, 3}).Set("strides", strides);
      expect(Pool(MakeMaxPool, whole, TensorOf<float>({1, 1, 3, 3}, x)), {kNan});
      Floats two = x;  // the second plane has no NaN
      two.insert(two.end(), plain.begin(), plain.end());
      expect(Pool(MakeMaxPool, whole, TensorOf<float>({1, 2, 3, 3}, two)), {kNan, 1});
      const std::vector<Tensor> indexed =
          RunNode(MakeMaxPool, whole, {TensorOf<float>({1, 1, 3, 3}, x)}, {.outputs = 2});
      expect(ValuesOf<float>(indexed[0]), {kNan});
      EXPECT_EQ(ValuesOf<int64_t>(indexed[1]), Ints{at});
    }
  const std::vector<Tensor> doubles =
      RunNode(MakeMaxPool, pairs, {TensorOf<double>({1, 1, 4}, {std::nan(""), 1, 2, 3})});
  EXPECT_TRUE(std::isnan(ValuesOf<double>(doubles[0])[0]));
  EXPECT_EQ(ValuesOf<double>(doubles[0])[1], 3);
  const std::vector<Tensor> halves =
      RunNode(MakeMaxPool, pairs, {TensorOf<uint16_t>({1, 1, 4}, {0x3c00, 0x7e00, 0x3c00, 0x4000}, DType::kFloat16)});
  EXPECT_EQ(ValuesOf<uint16_t>(halves[0]), (std::vector<uint16_t>{0x7e00, 0x4000}));
  expect(Pool(MakeGlobalMaxPool, PrimitiveBuilder("", "GlobalMaxPool", 22),
              TensorOf<float>({1, 2, 1, 3}, {1, kNan, 2, 1, 2, 3})),
         {kNan, 3});
}

// Padding and dilations, over planes large enough for vectors.
TEST(MaxPoolOnCpu, NanReachesEveryWindowThatHasIt) {
  constexpr int64_t kHeight = 19, kWidth = 37;
  Floats x(kHeight * kWidth);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11);
  constexpr int64_t kRow = 7, kColumn = 21;
  x[kRow * kWidth + kColumn] = std::numeric_limits<float>::quiet_NaN();
  const PrimitiveBuilder builder =
      MaxPool({3, 3}).Set("strides", Ints{2, 2}).Set("pads", Ints{2, 2, 2, 2}).Set("dilations", Ints{2, 2});
  const Tensor y = RunNode(MakeMaxPool, builder, {TensorOf<float>({1, 1, kHeight, kWidth}, x)})[0];
  const int64_t rows = y.shape()[2], columns = y.shape()[3];
  const auto covers = [](int64_t position, int64_t at) {
    const int64_t tap = at - (2 * position - 2);
    return tap >= 0 && tap <= 4 && tap % 2 == 0;
  };
  for (int64_t i = 0; i < rows * columns; ++i)
    EXPECT_EQ(std::isnan(ValuesOf<float>(y)[static_cast<size_t>(i)]),
              covers(i / columns, kRow) && covers(i % columns, kColumn))
        << i;
}

}  // namespace
}  // namespace deputy::host
