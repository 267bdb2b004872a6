// R28: attributes that no node can have, R33: scales and zero points that are none. Each is an error that says so, or a
// result; never a division by zero or a read elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(), kLargest = std::numeric_limits<int64_t>::max();

PrimitiveBuilder Op(const char* name, int32_t version) { return PrimitiveBuilder("", name, version); }

TEST(Conv, R28_WindowsThatCannotBeAreRefused) {
  const std::vector<Tensor> inputs = {Zeros({1, 2, 4, 4}), Zeros({2, 2, 2, 2})};
  for (const char* name : {"strides", "dilations", "kernel_shape"})
    for (const int64_t value : {int64_t{0}, int64_t{-1}, kLowest, kLargest}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(value));
      ExpectRefused(MakeConv, Op("Conv", 11).Set(name, Ints{value, value}), inputs);
      ExpectRefused(MakeConv, Op("Conv", 11).Set(name, Ints{1}), inputs);
    }
  for (const int64_t value : {int64_t{-1}, kLowest, kLargest})
    ExpectRefused(MakeConv, Op("Conv", 11).Set("pads", Ints{0, 0, 0, value}), inputs);
  ExpectRefused(MakeConv, Op("Conv", 11).Set("pads", Ints{0, 0}), inputs);
  ExpectRefused(MakeConv, Op("Conv", 11).Set("auto_pad", std::string("SOME")), inputs);
}

TEST(Conv, R28_GroupsThatDoNotDivideTheChannelsAreRefused) {
  const std::vector<Tensor> inputs = {Zeros({1, 2, 4, 4}), Zeros({2, 2, 2, 2})};
  for (const int64_t group : {int64_t{0}, int64_t{-1}, int64_t{2}, int64_t{3}, kLowest, kLargest})
    ExpectRefused(MakeConv, Op("Conv", 11).Set("group", group), inputs);
}

TEST(ConvTranspose, R28_GroupsThatDoNotDivideTheChannelsAreRefused) {
  const std::vector<Tensor> inputs = {Zeros({1, 2, 4, 4}), Zeros({2, 2, 2, 2})};
  for (const int64_t group : {int64_t{0}, int64_t{-1}, int64_t{3}, kLowest, kLargest})
    ExpectRefused(MakeConvTranspose, Op("ConvTranspose", 11).Set("group", group), inputs);
}

TEST(MaxPool, R28_WindowsThatCannotBeAreRefused) {
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{6}, kLowest, kLargest})
    ExpectRefused(MakeMaxPool, Op("MaxPool", 12).Set("kernel_shape", Ints{1, value}), {Zeros({1, 1, 4, 4})});
}

TEST(AxisAttribute, R28_OutOfRangeIsRefused) {
  for (const int64_t axis : {int64_t{2}, int64_t{-3}, kLowest, kLargest}) {
    SCOPED_TRACE(axis);
    const std::vector<Tensor> one = {Zeros({2, 3})};
    ExpectRefused(MakeSoftmax, Op("Softmax", 13).Set("axis", axis), one);
    ExpectRefused(MakeLogSoftmax, Op("LogSoftmax", 13).Set("axis", axis), one);
    ExpectRefused(MakeHardmax, Op("Hardmax", 13).Set("axis", axis), one);
    ExpectRefused(MakeArgMax, Op("ArgMax", 13).Set("axis", axis), one);
    ExpectRefused(MakeConcat, Op("Concat", 13).Set("axis", axis), {Zeros({2, 3}), Zeros({2, 3})});
    ExpectRefused(MakeSplit, Op("Split", 13).Set("axis", axis), one);
    ExpectRefused(MakeGather, Op("Gather", 13).Set("axis", axis), {Zeros({2, 3}), TensorOf<int64_t>({1}, {0})});
    ExpectRefused(MakeLayerNormalization, Op("LayerNormalization", 17).Set("axis", axis), {Zeros({2, 3}), Zeros({3})});
    ExpectRefused(MakeCompress, Op("Compress", 11).Set("axis", axis),
                  {Zeros({2, 3}), TensorOf<uint8_t>({1}, {1}, DType::kBool)});
  }
}

TEST(Transpose, R28_PermutationsThatAreNoneAreRefused) {
  for (const Ints& perm : {Ints{0, 0}, Ints{0}, Ints{0, 1, 2}, Ints{0, 2}, Ints{kLowest, kLargest}})
    ExpectRefused(MakeTranspose, Op("Transpose", 13).Set("perm", perm), {Zeros({2, 3})});
}

TEST(DepthToSpace, R28_BlocksThatCannotBeAreRefused) {
  for (const int64_t block : {int64_t{0}, int64_t{-1}, int64_t{3}, int64_t{1} << 32, kLowest, kLargest})
    ExpectRefused(MakeDepthToSpace, Op("DepthToSpace", 13).Set("blocksize", block), {Zeros({1, 4, 2, 2})});
}

TEST(SpaceToDepth, R28_BlocksThatCannotBeAreRefused) {
  for (const int64_t block : {int64_t{0}, int64_t{-1}, int64_t{3}, int64_t{1} << 32, kLowest, kLargest})
    ExpectRefused(MakeSpaceToDepth, Op("SpaceToDepth", 13).Set("blocksize", block), {Zeros({1, 1, 2, 2})});
}

TEST(GroupNormalization, R28_GroupsThatDoNotDivideTheChannelsAreRefused) {
  for (const int64_t groups : {int64_t{0}, int64_t{-1}, int64_t{3}, kLowest, kLargest})
    ExpectRefused(MakeGroupNormalization, Op("GroupNormalization", 21).Set("num_groups", groups),
                  {Zeros({1, 4, 2}), Zeros({4}), Zeros({4})});
}

TEST(Attention, R28_HeadsThatDoNotDivideAreRefused) {
  for (const int64_t heads : {int64_t{0}, int64_t{-1}, int64_t{3}, kLowest, kLargest})
    ExpectRefused(MakeAttention, Op("Attention", 23).Set("q_num_heads", heads).Set("kv_num_heads", heads),
                  {Zeros({1, 2, 4}), Zeros({1, 2, 4}), Zeros({1, 2, 4})});
}

TEST(QuantizeLinear, R33_ScalesThatAreNoneGiveAResult) {
  for (const float scale : {0.0f, -1.0f, NAN, INFINITY, -INFINITY, 1e-45f, 3e38f}) {
    const std::vector<Tensor> out = RunNode(
        MakeQuantizeLinear, Op("QuantizeLinear", 13),
        {TensorOf<float>({4}, {0, 1, NAN, -INFINITY}), TensorOf<float>({}, {scale}), TensorOf<int8_t>({}, {0})});
    ASSERT_EQ(out[0].shape(), (Shape{4}));
    EXPECT_EQ(ValuesOf<int8_t>(out[0])[2], -128);  // of NaN
  }
}

TEST(DequantizeLinear, R33_ScalesThatAreNoneGiveAResult) {
  for (const float scale : {0.0f, -1.0f, NAN, INFINITY}) {
    const Floats out = ValuesOf<float>(RunNode(MakeDequantizeLinear, Op("DequantizeLinear", 13),
                                               {TensorOf<uint8_t>({2}, {0, 255}), TensorOf<float>({}, {scale})})[0]);
    for (const size_t i : {0, 1}) {
      const float product = scale * (i == 0 ? 0.0f : 255.0f);
      EXPECT_TRUE(out[i] == product || (std::isnan(out[i]) && std::isnan(product))) << out[i] << " by " << scale;
    }
  }
}

TEST(QuantizeLinear, R33_ZeroPointsOfAnotherLengthAreRefused) {
  ExpectRefused(MakeQuantizeLinear, Op("QuantizeLinear", 13),
                {Zeros({2, 3}), TensorOf<float>({3}, {1, 1, 1}), TensorOf<int8_t>({2}, {0, 0})});
}

TEST(DequantizeLinear, R33_ZeroPointsOfAnotherTypeAreRefused) {
  ExpectRefused(MakeDequantizeLinear, Op("DequantizeLinear", 13),
                {TensorOf<uint8_t>({2}, {0, 255}), TensorOf<float>({}, {1}), TensorOf<int8_t>({}, {0})});
}

TEST(QuantizeLinear, R33_ScalesThatFitNoAxisAreRefused) {
  for (const int64_t axis : {int64_t{0}, int64_t{2}, int64_t{-3}, kLowest, kLargest})
    ExpectRefused(MakeQuantizeLinear, Op("QuantizeLinear", 13).Set("axis", axis),
                  {Zeros({2, 3}), TensorOf<float>({3}, {1, 1, 1}), TensorOf<int8_t>({3}, {0, 0, 0})});
}

TEST(QuantizeLinear, R33_BlocksThatCannotBeAreRefused) {
  for (const int64_t block : {int64_t{0}, int64_t{-1}, int64_t{4}, kLowest, kLargest})
    ExpectRefused(MakeQuantizeLinear, Op("QuantizeLinear", 21).Set("block_size", block).Set("axis", int64_t{1}),
                  {Zeros({2, 4}), Zeros({2, 2}), Tensor()});
}

// A range that is no number or too large for a scale has the zero point 0; NaN is quantized to 0 beside it.
TEST(DynamicQuantizeLinear, R33_ElementsThatAreNoNumbersGiveAResult) {
  for (const float wild : {NAN, INFINITY, -INFINITY, 3e38f}) {
    const std::vector<Tensor> out = RunNode(MakeDynamicQuantizeLinear, Op("DynamicQuantizeLinear", 11),
                                            {TensorOf<float>({3}, {wild, 1, -wild})}, {.outputs = 3});
    const bool finite = std::isnan(wild);  // the range of what is left
    EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{0, static_cast<uint8_t>(finite ? 255 : 0), 0})) << wild;
    EXPECT_EQ(ValuesOf<float>(out[1])[0], finite ? 1 / 255.0f : INFINITY) << wild;
    EXPECT_EQ(ValuesOf<uint8_t>(out[2])[0], 0) << wild;
  }
}

TEST(QLinearMatMul, R33_ScalesOfAnotherLengthAreRefused) {
  const Tensor a = TensorOf<uint8_t>({2, 2}, {1, 2, 3, 4}), zero = TensorOf<uint8_t>({}, {0});
  const Tensor one = TensorOf<float>({}, {1}), three = TensorOf<float>({3}, {1, 1, 1});
  ExpectRefused(MakeQLinearMatMul, Op("QLinearMatMul", 21), {a, one, zero, a, three, zero, one, zero});
  ExpectRefused(MakeQLinearMatMul, Op("QLinearMatMul", 21), {a, three, zero, a, one, zero, one, zero});
}

}  // namespace
}  // namespace deputy::host
