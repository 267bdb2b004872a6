// Quantizing operators and products of quantized tensors, each as a node would run. Expected numbers are those of the
// ONNX reference implementation.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Bytes = std::vector<uint8_t>;

Tensor Table() { return TensorOf<float>({2, 3}, {-1.3f, 0.5f, 1.5f, 2.5f, 300, -300}); }

TEST(QuantizeLinear, HalvesGoToTheEvenAndOutOfRangeSaturates) {
  const std::vector<Tensor> out = RunNode(MakeQuantizeLinear, PrimitiveBuilder("", "QuantizeLinear", 19),
                                          {Table(), TensorOf<float>({}, {0.5f}), TensorOf<int8_t>({}, {3})});
  EXPECT_EQ(ValuesOf<int8_t>(out[0]), (std::vector<int8_t>{0, 4, 6, 8, 127, -128}));
}

TEST(QuantizeLinear, FourBitsArePackedAndSaturate) {
  const Tensor zero_point = *Tensor::Allocate(DType::kInt4, {});
  const std::vector<Tensor> out =
      RunNode(MakeQuantizeLinear, PrimitiveBuilder("", "QuantizeLinear", 21),
              {TensorOf<float>({5}, {0.5f, 1.5f, -2, 300, -300}), TensorOf<float>({}, {1}), zero_point});
  ASSERT_EQ(out[0].dtype(), DType::kInt4);
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (Bytes{0x20, 0x7e, 0x08}));
}

TEST(QuantizeLinear, FloatsOfEightBitsSaturateUnlessAskedNotTo) {
  const Tensor zero_point = *Tensor::Allocate(DType::kFloat8E4M3FN, {});
  const std::vector<Tensor> inputs = {TensorOf<float>({3}, {1, -3, 1e6f}), TensorOf<float>({}, {2}), zero_point};
  const PrimitiveBuilder builder("", "QuantizeLinear", 19);
  EXPECT_EQ(ValuesOf<uint8_t>(RunNode(MakeQuantizeLinear, builder, inputs)[0]), (Bytes{0x30, 0xbc, 0x7e}));
  EXPECT_EQ(
      ValuesOf<uint8_t>(RunNode(MakeQuantizeLinear, PrimitiveBuilder(builder).Set("saturate", int64_t{0}), inputs)[0]),
      (Bytes{0x30, 0xbc, 0x7f}));
}

TEST(DequantizeLinear, FourBitsInBlocks) {
  const Tensor x = *Tensor::FromValues<uint8_t>(DType::kUint4, {1, 4}, Bytes{0x21, 0xf3});
  const std::vector<Tensor> out = RunNode(
      MakeDequantizeLinear, PrimitiveBuilder("", "DequantizeLinear", 21).Set("block_size", int64_t{2}),
      {x, TensorOf<float>({1, 2}, {1, 0.5f}), *Tensor::FromValues<uint8_t>(DType::kUint4, {1, 2}, Bytes{0x31})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (std::vector<float>{0, 1, 0, 6}));
}

TEST(QuantizeLinear, NotANumberIsTheLowest) {
  const std::vector<Tensor> out =
      RunNode(MakeQuantizeLinear, PrimitiveBuilder("", "QuantizeLinear", 13),
              {TensorOf<float>({3}, {NAN, INFINITY, -INFINITY}), TensorOf<float>({}, {1}), TensorOf<int8_t>({}, {0})});
  EXPECT_EQ(ValuesOf<int8_t>(out[0]), (std::vector<int8_t>{-128, 127, -128}));
}

TEST(QuantizeLinear, ScalesThatFitNoAxisAreRefused) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeQuantizeLinear, PrimitiveBuilder("", "QuantizeLinear", 13),
                 {Table(), TensorOf<float>({2}, {1, 1}), TensorOf<int8_t>({2}, {0, 0})});
  EXPECT_EQ(out.status().message(), "scale has 2 elements, expected 3, the extent of axis 1");
}

TEST(MatMulInteger, EachMatrixHasItsZeroPoints) {
  const std::vector<Tensor> out =
      RunNode(MakeMatMulInteger, PrimitiveBuilder("", "MatMulInteger", 10),
              {TensorOf<uint8_t>({2, 1, 2}, {1, 2, 3, 4}), TensorOf<uint8_t>({2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12}),
               TensorOf<uint8_t>({2, 1, 1}, {1, 0}), TensorOf<uint8_t>({2, 1, 2}, {5, 6, 9, 0})});
  EXPECT_EQ(ValuesOf<int32_t>(out[0]), (std::vector<int32_t>{2, 2, 8, 78}));
}

template <class T>
std::vector<T> Draw(size_t count, std::mt19937& random) {
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

// Odd depths, and more rows and columns than any tile has.
TEST(MatMulInteger, ProductsOfManyExtentsAreExact) {
  const uint32_t seed = 11;
  std::mt19937 random(seed);
  for (const std::vector<size_t>& e : {std::vector<size_t>{1, 1, 1}, {7, 33, 5}, {50, 129, 63}, {3, 16, 600}}) {
    const size_t m = e[0], n = e[1], k = e[2];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(m) + "x" + std::to_string(n));
    const std::vector<uint8_t> a = Draw<uint8_t>(m * k, random);
    const std::vector<int8_t> b = Draw<int8_t>(k * n, random), zeros = Draw<int8_t>(n, random);
    const auto extent = [](size_t value) { return static_cast<int64_t>(value); };
    std::vector<int32_t> expected;
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        int32_t sum = 0;
        for (size_t p = 0; p < k; ++p) sum += (int32_t{a[i * k + p]} - 200) * (int32_t{b[p * n + j]} - zeros[j]);
        expected.push_back(sum);
      }
    for (const std::vector<size_t>& constants : {std::vector<size_t>{}, {1}, {1, 3}}) {
      const std::vector<Tensor> out =
          RunNode(MakeMatMulInteger, PrimitiveBuilder("", "MatMulInteger", 10),
                  {TensorOf<uint8_t>({extent(m), extent(k)}, a), TensorOf<int8_t>({extent(k), extent(n)}, b),
                   TensorOf<uint8_t>({}, {200}), TensorOf<int8_t>({extent(n)}, zeros)},
                  {.constants = constants});
      EXPECT_EQ(ValuesOf<int32_t>(out[0]), expected) << constants.size() << " constants";
    }
  }
}

TEST(MatMulInteger, AConstantZeroPointThatFitsNothingIsRefused) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeMatMulInteger, PrimitiveBuilder("", "MatMulInteger", 10),
                 {TensorOf<uint8_t>({1, 2}, {1, 2}), TensorOf<uint8_t>({2, 2}, {1, 2, 3, 4}), kNoInput,
                  TensorOf<uint8_t>({3}, {1, 2, 3})},
                 {.constants = {1, 3}});
  EXPECT_EQ(out.status().message(), "input 'b_zero_point' has shape [3], expected one value, or a list of 2");
}

// Three channels to a group, and then one: the last channel has no neighbour.
template <class T>
Tensor RandomBytes(const Shape& shape, std::mt19937& random) {
  return TensorOf<T>(shape, Draw<T>(static_cast<size_t>(ElementCount(shape)), random));
}

// Constant weights are prepared once, and with one channel per group the sums are computed in floats.
TEST(QLinearConv, ConstantWeightsGiveTheSameBytes) {
  struct {
    Shape x, w;
    int64_t group, stride, pad;
  } const cases[] = {{{2, 7, 9, 11}, {7, 1, 3, 3}, 7, 1, 1},    {{1, 4, 12, 5}, {8, 1, 5, 3}, 4, 2, 2},
                     {{1, 3, 17, 16}, {3, 1, 15, 16}, 3, 1, 0}, {{1, 3, 18, 18}, {3, 1, 17, 17}, 3, 1, 0},
                     {{1, 6, 7, 7}, {4, 3, 3, 3}, 2, 1, 1},     {{2, 5, 6, 6}, {4, 5, 1, 1}, 1, 1, 0}};
  std::mt19937 random(7);
  for (const auto& one : cases) {
    const Tensor x = RandomBytes<uint8_t>(one.x, random), w = RandomBytes<int8_t>(one.w, random);
    std::vector<float> scales(static_cast<size_t>(one.w[0]));
    std::vector<int32_t> bias(scales.size());
    for (float& scale : scales) scale = static_cast<float>(random() % 100 + 1) * 1e-5f;
    for (const int32_t most : {1000, 1 << 30}) {  // the larger one is not exact in floats
      for (int32_t& value : bias) value = static_cast<int32_t>(random() % static_cast<uint32_t>(most)) - most / 2;
      const std::vector<Tensor> inputs = {x,
                                          TensorOf<float>({}, {1}),
                                          TensorOf<uint8_t>({}, {uint8_t{131}}),
                                          w,
                                          TensorOf<float>({one.w[0]}, scales),
                                          RandomBytes<int8_t>({one.w[0]}, random),
                                          TensorOf<float>({}, {0.7f}),
                                          TensorOf<uint8_t>({}, {uint8_t{120}}),
                                          TensorOf<int32_t>({one.w[0]}, bias)};
      const auto node = [&](const char* type) {
        return PrimitiveBuilder("", type, 10)
            .Set("group", one.group)
            .Set("strides", std::vector<int64_t>{one.stride, one.stride})
            .Set("pads", std::vector<int64_t>(4, one.pad));
      };
      const Tensor variable = RunNode(MakeQLinearConv, node("QLinearConv"), inputs)[0];
      const Tensor constant = RunNode(MakeQLinearConv, node("QLinearConv"), inputs, {.constants = {3, 5, 8}})[0];
      EXPECT_EQ(ValuesOf<uint8_t>(constant), ValuesOf<uint8_t>(variable)) << one.w[1] << " " << one.w[2];
      const std::vector<Tensor> whole = {x, w, inputs[2], inputs[5]};
      const PrimitiveBuilder integer = node("ConvInteger");
      EXPECT_EQ(ValuesOf<int32_t>(RunNode(MakeConvInteger, integer, whole, {.constants = {1, 3}})[0]),
                ValuesOf<int32_t>(RunNode(MakeConvInteger, integer, whole)[0]));
    }
  }
}

TEST(ConvInteger, GroupsOfOddChannelsAreExact) {
  const uint32_t seed = 12;
  std::mt19937 random(seed);
  for (const size_t channels : {size_t{3}, size_t{1}, size_t{4}}) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", channels " + std::to_string(channels));
    constexpr size_t kGroups = 2, kFilters = 5, kSize = 9;  // filters of a group
    const std::vector<uint8_t> x = Draw<uint8_t>(kGroups * channels * kSize * kSize, random);
    const std::vector<int8_t> w = Draw<int8_t>(kGroups * kFilters * channels * 9, random);
    const int64_t c = static_cast<int64_t>(channels);
    const PrimitiveBuilder builder = PrimitiveBuilder("", "ConvInteger", 10).Set("group", int64_t{2});
    const std::vector<Tensor> out = RunNode(
        MakeConvInteger, builder,
        {TensorOf<uint8_t>({1, 2 * c, 9, 9}, x), TensorOf<int8_t>({10, c, 3, 3}, w), TensorOf<uint8_t>({}, {9})});
    std::vector<int32_t> expected;
    for (size_t f = 0; f < kGroups * kFilters; ++f)
      for (size_t at = 0; at < 49; ++at) {
        int32_t sum = 0;
        for (size_t i = 0; i < channels; ++i)
          for (size_t tap = 0; tap < 9; ++tap) {
            const size_t plane = f / kFilters * channels + i;
            const size_t pixel = (at / 7 + tap / 3) * kSize + at % 7 + tap % 3;
            sum += (int32_t{x[plane * kSize * kSize + pixel]} - 9) * w[(f * channels + i) * 9 + tap];
          }
        expected.push_back(sum);
      }
    EXPECT_EQ(ValuesOf<int32_t>(out[0]), expected);
  }
}

TEST(QLinearMatMul, RowsAndColumnsHaveTheirScales) {
  const std::vector<Tensor> out =
      RunNode(MakeQLinearMatMul, PrimitiveBuilder("", "QLinearMatMul", 10),
              {TensorOf<uint8_t>({2, 1}, {10, 20}), TensorOf<float>({2}, {0.5f, 2}), TensorOf<uint8_t>({}, {0}),
               TensorOf<uint8_t>({1, 2}, {1, 2}), TensorOf<float>({2}, {1, 0.25f}), TensorOf<uint8_t>({}, {0}),
               TensorOf<float>({}, {0.5f}), TensorOf<uint8_t>({}, {3})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (Bytes{13, 8, 83, 43}));
}

TEST(QLinearMatMul, RowsHaveTheirScalesBesideAVector) {
  const std::vector<Tensor> out =
      RunNode(MakeQLinearMatMul, PrimitiveBuilder("", "QLinearMatMul", 10),
              {TensorOf<uint8_t>({3, 2, 1}, {1, 2, 3, 4, 5, 6}), TensorOf<float>({2}, {1, 10}),
               TensorOf<uint8_t>({}, {0}), TensorOf<uint8_t>({1}, {2}), TensorOf<float>({}, {1}),
               TensorOf<uint8_t>({}, {0}), TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {0})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (Bytes{2, 40, 6, 80, 10, 120}));
}

TEST(QLinearMatMul, EachMatrixHasItsScales) {
  const std::vector<Tensor> out =
      RunNode(MakeQLinearMatMul, PrimitiveBuilder("", "QLinearMatMul", 10),
              {TensorOf<uint8_t>({2, 1, 1}, {10, 20}), TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {0}),
               TensorOf<uint8_t>({2, 1, 2}, {1, 2, 3, 4}), TensorOf<float>({2, 1, 2}, {1, 0.5f, 2, 0.25f}),
               TensorOf<uint8_t>({}, {0}), TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {0})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (Bytes{10, 10, 120, 20}));
}

TEST(DequantizeLinear, BlocksOfAList) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "DequantizeLinear", 21).Set("axis", int64_t{0}).Set("block_size", int64_t{2});
  const std::vector<Tensor> out =
      RunNode(MakeDequantizeLinear, builder, {TensorOf<int8_t>({3}, {1, 2, 3}), TensorOf<float>({2}, {0.5f, 4})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (std::vector<float>{0.5f, 1, 12}));
}

// Steps are half as large as those of the result, whose zero point is odd: 0.5 + 43 is rounded to 44, 1.5 + 43 to 44.
TEST(MicrosoftQLinearAdd, HalvesGoToTheEvenInteger) {
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearAdd, PrimitiveBuilder("com.microsoft", "QLinearAdd", 1),
              {TensorOf<uint8_t>({4}, {6, 7, 8, 10}), TensorOf<float>({}, {0.5f}), TensorOf<uint8_t>({}, {7}),
               TensorOf<uint8_t>({1}, {0}), TensorOf<float>({}, {0.5f}), TensorOf<uint8_t>({}, {0}),
               TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {43})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{42, 43, 44, 44}));
}

TEST(MicrosoftQLinearMul, HalvesGoToTheEvenInteger) {
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QLinearMul, PrimitiveBuilder("com.microsoft", "QLinearMul", 1),
              {TensorOf<uint8_t>({4}, {6, 7, 8, 10}), TensorOf<float>({}, {0.5f}), TensorOf<uint8_t>({}, {7}),
               TensorOf<uint8_t>({1}, {1}), TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {0}),
               TensorOf<float>({}, {1}), TensorOf<uint8_t>({}, {43})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{42, 43, 44, 44}));
}

TEST(MicrosoftDynamicQuantizeLSTM, ScalesThatDoNotFitAreRefused) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "DynamicQuantizeLSTM", 1);
  const Tensor zero = TensorOf<uint8_t>({1}, {0}), scale = TensorOf<float>({1}, {1});
  std::vector<Tensor> inputs = {Tensor::Allocate(DType::kFloat32, {2, 1, 3}).value(),
                                Tensor::Allocate(DType::kUint8, {1, 3, 8}).value(),
                                Tensor::Allocate(DType::kUint8, {1, 2, 8}).value(),
                                kNoInput,
                                kNoInput,
                                kNoInput,
                                kNoInput,
                                kNoInput,
                                scale,
                                zero,
                                scale,
                                zero};
  ASSERT_TRUE(TryRunNode(MakeMicrosoft_DynamicQuantizeLSTM, builder, inputs).ok());
  for (const auto& [input, wrong] :
       std::vector<std::pair<size_t, Tensor>>{{8, TensorOf<float>({2}, {1, 1})},
                                              {8, TensorOf<float>({}, {1})},
                                              {9, TensorOf<uint8_t>({1, 7}, {0, 0, 0, 0, 0, 0, 0})},
                                              {11, TensorOf<int8_t>({1}, {0})},
                                              {10, kNoInput}}) {
    std::vector<Tensor> others = inputs;
    others[input] = wrong;
    EXPECT_FALSE(TryRunNode(MakeMicrosoft_DynamicQuantizeLSTM, builder, others).ok()) << "input " << input;
  }
}

// Constant factors are packed, as far as possible for instructions whose sums of two products have 16 bits; weights of
// the whole range exceed these in some places, or in most.
TEST(ConvInteger, PackedWeightsGiveTheSameSums) {
  const uint32_t seed = 3;
  std::mt19937 random(seed);
  for (const int spread : {1, 20, 1000})
    for (const int64_t group : {1, 2}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", spread " + std::to_string(spread));
      const int64_t channels = 12 / group;
      std::vector<int8_t> weights = Draw<int8_t>(static_cast<size_t>(8 * channels * 9), random);
      for (int8_t& weight : weights)
        if (static_cast<int>(random() % 1000) >= spread) weight = static_cast<int8_t>(weight / 4);
      const PrimitiveBuilder builder = PrimitiveBuilder("", "ConvInteger", 10)
                                           .Set("group", group)
                                           .Set("pads", std::vector<int64_t>{1, 0, 2, 1})
                                           .Set("strides", std::vector<int64_t>{1, 2});
      for (const bool is_signed : {false, true}) {
        const std::vector<uint8_t> bytes = Draw<uint8_t>(2 * 12 * 7 * 11, random);
        const Tensor x = is_signed ? TensorOf<int8_t>({2, 12, 7, 11}, std::vector<int8_t>(bytes.begin(), bytes.end()))
                                   : TensorOf<uint8_t>({2, 12, 7, 11}, bytes);
        const Tensor zero = is_signed ? TensorOf<int8_t>({}, {-7}) : TensorOf<uint8_t>({}, {201});
        const std::vector<Tensor> inputs = {x, TensorOf<int8_t>({8, channels, 3, 3}, weights), zero,
                                            TensorOf<int8_t>({}, {5})};
        const std::vector<Tensor> packed = RunNode(MakeConvInteger, builder, inputs, {.constants = {1, 2, 3}});
        const std::vector<Tensor> sums = RunNode(MakeConvInteger, builder, inputs);
        EXPECT_EQ(ValuesOf<int32_t>(packed[0]), ValuesOf<int32_t>(sums[0]));
      }
    }
}

TEST(MatMulInteger, PackedFactorsGiveTheSameSums) {
  const uint32_t seed = 4;
  std::mt19937 random(seed);
  for (const int spread : {1, 20, 1000})
    for (const int64_t rows : {1, 9, 70}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", spread " + std::to_string(spread));
      std::vector<int8_t> factor = Draw<int8_t>(37 * 45, random);
      for (int8_t& element : factor)
        if (static_cast<int>(random() % 1000) >= spread) element = static_cast<int8_t>(element / 4);
      const std::vector<Tensor> inputs = {
          TensorOf<uint8_t>({2, rows, 37}, Draw<uint8_t>(static_cast<size_t>(2 * rows * 37), random)),
          TensorOf<int8_t>({37, 45}, factor), TensorOf<uint8_t>({}, {100}),
          TensorOf<int8_t>({45}, Draw<int8_t>(45, random))};
      const PrimitiveBuilder builder("", "MatMulInteger", 10);
      const std::vector<Tensor> packed = RunNode(MakeMatMulInteger, builder, inputs, {.constants = {1, 3}});
      EXPECT_EQ(ValuesOf<int32_t>(packed[0]), ValuesOf<int32_t>(RunNode(MakeMatMulInteger, builder, inputs)[0]));
    }
}

}  // namespace
}  // namespace deputy::host
