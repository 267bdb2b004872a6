// The operators whose result depends on what elements are, each as a node would run.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

std::string Failure(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs, size_t outputs = 1) {
  const Result<std::vector<Tensor>> result =
      TryRunNode(make, builder, std::move(inputs), {.outputs = outputs, .constants = {}});
  return result.ok() ? std::string() : result.status().message();
}

TEST(TopK, EqualElementsStandInTheirOrder) {
  const std::vector<Tensor> out =
      RunNode(MakeTopK, PrimitiveBuilder("", "TopK", 11),
              {TensorOf<float>({5}, {1, 3, 3, 2, 3}), TensorOf<int64_t>({1}, {4})}, {.outputs = 2, .constants = {}});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{3, 3, 3, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(out[1]), (Ints{1, 2, 4, 3}));
}

TEST(TopK, SmallestAlongAnOuterAxis) {
  const std::vector<Tensor> out = RunNode(
      MakeTopK, PrimitiveBuilder("", "TopK", 11).Set("axis", int64_t{0}).Set("largest", int64_t{0}),
      {TensorOf<int32_t>({3, 2}, {5, 1, 4, 6, 3, 2}), TensorOf<int64_t>({1}, {2})}, {.outputs = 2, .constants = {}});
  EXPECT_EQ(ValuesOf<int32_t>(out[0]), (std::vector<int32_t>{3, 1, 4, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(out[1]), (Ints{2, 0, 1, 2}));
}

TEST(TopK, NotANumberIsTheLargest) {
  const std::vector<Tensor> out =
      RunNode(MakeTopK, PrimitiveBuilder("", "TopK", 11),
              {TensorOf<float>({3}, {1, NAN, INFINITY}), TensorOf<int64_t>({1}, {3})}, {.outputs = 2, .constants = {}});
  EXPECT_EQ(ValuesOf<int64_t>(out[1]), (Ints{1, 2, 0}));
}

TEST(TopK, MoreThanThereAreIsRefused) {
  EXPECT_NE(Failure(MakeTopK, PrimitiveBuilder("", "TopK", 11),
                    {TensorOf<float>({2}, {1, 2}), TensorOf<int64_t>({1}, {3})}, 2),
            "");
}

TEST(OneHot, IndexOutOfRangeIsOffEverywhere) {
  const std::vector<Tensor> out =
      RunNode(MakeOneHot, PrimitiveBuilder("", "OneHot", 11),
              {TensorOf<float>({3}, {1, -1, 3}), TensorOf<float>({}, {3}), TensorOf<int32_t>({2}, {7, 9})});
  EXPECT_EQ(ValuesOf<int32_t>(out[0]), (std::vector<int32_t>{7, 9, 7, 7, 7, 9, 7, 7, 7}));
}

TEST(OneHot, NewAxisMayComeFirst) {
  const std::vector<Tensor> out =
      RunNode(MakeOneHot, PrimitiveBuilder("", "OneHot", 11).Set("axis", int64_t{0}),
              {TensorOf<int64_t>({2}, {1, 0}), TensorOf<int64_t>({1}, {2}), TensorOf<uint8_t>({2}, {0, 1})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{0, 1, 1, 0}));
}

TEST(NonZero, PositionsStandInColumns) {
  const std::vector<Tensor> out =
      RunNode(MakeNonZero, PrimitiveBuilder("", "NonZero", 13), {TensorOf<float>({2, 2}, {1, -0.0f, 2, 3})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (Ints{0, 1, 1, 0, 0, 1}));
}

TEST(NonZero, NothingFoundHasNoColumns) {
  EXPECT_EQ(RunNode(MakeNonZero, PrimitiveBuilder("", "NonZero", 13), {TensorOf<uint8_t>({1, 2}, {0, 0})})[0].shape(),
            (Shape{2, 0}));
}

TEST(Compress, KeepsSlicesWhereTheConditionHolds) {
  const std::vector<Tensor> out =
      RunNode(MakeCompress, PrimitiveBuilder("", "Compress", 11).Set("axis", int64_t{1}),
              {TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6}), TensorOf<uint8_t>({3}, {0, 1, 1}, DType::kBool)});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{2, 3, 5, 6}));
}

TEST(Compress, FlattensWithoutAnAxis) {
  const std::vector<Tensor> out =
      RunNode(MakeCompress, PrimitiveBuilder("", "Compress", 11),
              {TensorOf<float>({2, 2}, {1, 2, 3, 4}), TensorOf<uint8_t>({3}, {1, 0, 1}, DType::kBool)});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{1, 3}));
}

TEST(Compress, ConditionBehindTheEndIsRefused) {
  EXPECT_EQ(Failure(MakeCompress, PrimitiveBuilder("", "Compress", 11),
                    {TensorOf<float>({1}, {1}), TensorOf<uint8_t>({2}, {0, 1}, DType::kBool)}),
            "the condition selects 1 of 1 along axis 0");
}

TEST(ReverseSequence, EachSequenceByItsOwnLength) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "ReverseSequence", 10).Set("time_axis", int64_t{1}).Set("batch_axis", int64_t{0});
  const std::vector<Tensor> out = RunNode(
      MakeReverseSequence, builder, {TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6}), TensorOf<int64_t>({2}, {2, 3})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{2, 1, 3, 6, 5, 4}));
}

TEST(ReverseSequence, LengthBeyondTheTimeIsRefused) {
  EXPECT_EQ(Failure(MakeReverseSequence, PrimitiveBuilder("", "ReverseSequence", 10),
                    {TensorOf<float>({2, 1}, {1, 2}), TensorOf<int64_t>({1}, {3})}),
            "a sequence length of 3 exceeds the extent 2");
}

TEST(ScatterElements, UpdatesThatDoNotFitAreRefused) {
  EXPECT_EQ(Failure(MakeScatterElements, PrimitiveBuilder("", "ScatterElements", 18),
                    {TensorOf<float>({2}, {1, 2}), TensorOf<int64_t>({1}, {0}), TensorOf<float>({2}, {3, 4})}),
            "indices [1] and updates [2] do not fit data [2]");
}

TEST(ScatterElements, DataIsCopiedBeforeTheUpdates) {
  const std::vector<Tensor> out =
      RunNode(MakeScatterElements, PrimitiveBuilder("", "ScatterElements", 18).Set("axis", int64_t{-1}),
              {TensorOf<float>({1, 3}, {1, 2, 3}), TensorOf<int32_t>({1, 1}, {-1}), TensorOf<float>({1, 1}, {9})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{1, 2, 9}));
}

TEST(OneHot, IndicesMayBeFloat16) {
  const std::vector<Tensor> out = RunNode(MakeOneHot, PrimitiveBuilder("", "OneHot", 11),
                                          {TensorOf<uint16_t>({2}, {0x4000, 0xbc00}, DType::kFloat16),
                                           TensorOf<int64_t>({}, {3}), TensorOf<float>({2}, {0, 1})},
                                          {1, {1}});
  EXPECT_EQ(ValuesOf<float>(out[0]), (std::vector<float>{0, 0, 1, 0, 0, 1}));
}

}  // namespace
}  // namespace deputy::host
