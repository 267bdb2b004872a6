// R29: indices, lengths, counts and axes that come as values, out of range, for every operator that takes any. Shape
// inference does not look at most of them, so that each kernel has to; the sanitizer builds see whether it did.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/float_values.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

constexpr int64_t kLowestIndex = std::numeric_limits<int64_t>::min(),
                  kLargestIndex = std::numeric_limits<int64_t>::max();

PrimitiveBuilder Of(const char* name, int32_t version) { return PrimitiveBuilder("", name, version); }

Tensor Whole(Shape shape, const Ints& values) { return TensorOf<int64_t>(std::move(shape), values); }
Tensor Numbers(Shape shape, const Floats& values) { return TensorOf<float>(std::move(shape), values); }

// The list with each of the bad values in the place of its last.
void ExpectEachRefused(Maker make, const PrimitiveBuilder& builder, const std::vector<Tensor>& inputs, size_t which,
                       const Ints& bad, size_t outputs = 1) {
  for (const int64_t value : bad) {
    SCOPED_TRACE(value);
    std::vector<Tensor> changed = inputs;
    Ints values = ValuesOf<int64_t>(inputs[which]);
    values.back() = value;
    changed[which] = Whole(inputs[which].shape(), values);
    ExpectRefused(make, builder, changed, outputs);
  }
}

// NaN, or within the range.
void ExpectWithin(const Tensor& tensor, float low, float high) {
  for (const float value : ValuesOf<float>(tensor))
    EXPECT_TRUE(std::isnan(value) || (value >= low && value <= high)) << value;
}

TEST(IndexRange, R29_TheMessageNamesTheValueAndItsRange) {
  EXPECT_EQ(Failure(MakeGatherElements, Of("GatherElements", 13).Set("axis", int64_t{1}),
                    {Numbers({1, 2}, {1, 2}), Whole({1, 1}, {-3})}),
            "index -3 is outside [-2, 1] along axis 1");
  EXPECT_EQ(Failure(MakeMaxUnpool, Of("MaxUnpool", 11).Set("kernel_shape", Ints{1}),
                    {Numbers({1, 1, 1}, {5}), Whole({1, 1, 1}, {1})}),
            "index 1 is outside an output of 1 elements");
  EXPECT_EQ(Failure(MakeRoiAlign, Of("RoiAlign", 16),
                    {Numbers({1, 1, 2, 2}, Floats(4)), Numbers({1, 4}, Floats(4)), Whole({1}, {1})}),
            "batch index 1 is outside [0, 0]");
  EXPECT_EQ(Failure(MakeNegativeLogLikelihoodLoss, Of("NegativeLogLikelihoodLoss", 13),
                    {Numbers({1, 2}, {0, 0}), Whole({1}, {2})}),
            "class 2 is outside [0, 1]");
  EXPECT_EQ(
      Failure(MakeCompress, Of("Compress", 11), {Numbers({1}, {1}), TensorOf<uint8_t>({2}, {0, 1}, DType::kBool)}),
      "condition selects index 1 of 1 along axis 0");
  EXPECT_EQ(Failure(MakeReverseSequence, Of("ReverseSequence", 10), {Numbers({2, 1}, {1, 2}), Whole({1}, {3})}),
            "sequence_lens has the value 3, expected 0 to 2");
  EXPECT_EQ(
      Failure(MakeRotaryEmbedding, Of("RotaryEmbedding", 23),
              {Numbers({1, 1, 1, 2}, {1, 2}), Numbers({2, 1}, {1, 1}), Numbers({2, 1}, {0, 0}), Whole({1, 1}, {2})}),
      "position 2 is outside [0, 1]");
}

TEST(Gather, R29_IndexOutOfRangeIsRefused) {
  ExpectEachRefused(MakeGather, Of("Gather", 13), {Numbers({3}, {1, 2, 3}), Whole({2}, {0, 0})}, 1,
                    {3, -4, kLowestIndex, kLargestIndex});
}

TEST(Gather, R29_IndexOfInt32OutOfRangeIsRefused) {
  for (const int32_t index : {3, -4, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()})
    ExpectRefused(MakeGather, Of("Gather", 13), {Numbers({3}, {1, 2, 3}), TensorOf<int32_t>({1}, {index})});
}

TEST(Gather, R29_AnyIndexOfNothingIsRefused) {
  ExpectEachRefused(MakeGather, Of("Gather", 13), {Numbers({0, 2}, {}), Whole({1}, {0})}, 1, {0, -1});
}

TEST(GatherElements, R29_IndexOutOfRangeIsRefused) {
  ExpectEachRefused(MakeGatherElements, Of("GatherElements", 13), {Numbers({3}, {1, 2, 3}), Whole({2}, {0, 0})}, 1,
                    {3, -4, kLowestIndex, kLargestIndex});
}

TEST(GatherND, R29_IndexOutOfRangeIsRefused) {
  ExpectEachRefused(MakeGatherND, Of("GatherND", 13), {Numbers({2, 2}, {1, 2, 3, 4}), Whole({1, 2}, {0, 0})}, 1,
                    {2, -3, kLowestIndex, kLargestIndex});
}

TEST(ScatterElements, R29_IndexOutOfRangeIsRefused) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"})
    ExpectEachRefused(MakeScatterElements, Of("ScatterElements", 18).Set("reduction", std::string(reduction)),
                      {Numbers({3}, {1, 2, 3}), Whole({2}, {0, 0}), Numbers({2}, {8, 9})}, 1,
                      {3, -4, kLowestIndex, kLargestIndex});
}

TEST(Scatter, R29_IndexOutOfRangeIsRefused) {
  ExpectEachRefused(MakeScatter, Of("Scatter", 9), {Numbers({3}, {1, 2, 3}), Whole({2}, {0, 0}), Numbers({2}, {8, 9})},
                    1, {3, -4, kLowestIndex, kLargestIndex});
}

TEST(ScatterND, R29_IndexOutOfRangeIsRefused) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"})
    ExpectEachRefused(MakeScatterND, Of("ScatterND", 18).Set("reduction", std::string(reduction)),
                      {Numbers({2, 2}, {1, 2, 3, 4}), Whole({1, 2}, {0, 0}), Numbers({1}, {9})}, 1,
                      {2, -3, kLowestIndex, kLargestIndex});
}

TEST(OneHot, R29_IndicesOfAnySizeAreOffWhereTheyAreOutOfRange) {
  const std::vector<Tensor> out =
      RunNode(MakeOneHot, Of("OneHot", 11),
              {Whole({4}, {kLowestIndex, kLargestIndex, 3, -4}), Whole({}, {3}), TensorOf<int32_t>({2}, {7, 9})});
  EXPECT_EQ(ValuesOf<int32_t>(out[0]), std::vector<int32_t>(12, 7));
}

TEST(OneHot, R29_IndicesThatAreNoNumbersAreOff) {
  const std::vector<Tensor> out =
      RunNode(MakeOneHot, Of("OneHot", 11),
              {Numbers({3}, {NAN, kInf, -1e30f}), Whole({}, {2}), TensorOf<int32_t>({2}, {7, 9})});
  EXPECT_EQ(ValuesOf<int32_t>(out[0]), std::vector<int32_t>(6, 7));
}

TEST(OneHot, R29_DepthThatIsNoneIsRefused) {
  ExpectEachRefused(MakeOneHot, Of("OneHot", 11), {Whole({1}, {0}), Whole({1}, {1}), Numbers({2}, {0, 1})}, 1,
                    {0, -1, kLowestIndex, kLargestIndex});
}

TEST(Slice, R29_BoundsBeyondTheEndsAreCut) {
  const std::vector<Tensor> all = RunNode(
      MakeSlice, Of("Slice", 13), {Numbers({3}, {1, 2, 3}), Whole({1}, {kLowestIndex}), Whole({1}, {kLargestIndex})});
  EXPECT_EQ(ValuesOf<float>(all[0]), (Floats{1, 2, 3}));
  const std::vector<Tensor> back = RunNode(MakeSlice, Of("Slice", 13),
                                           {Numbers({3}, {1, 2, 3}), Whole({1}, {kLargestIndex}),
                                            Whole({1}, {kLowestIndex}), Whole({1}, {0}), Whole({1}, {kLowestIndex})});
  EXPECT_EQ(ValuesOf<float>(back[0]), (Floats{3}));
}

TEST(Slice, R29_AxisOutOfRangeIsRefused) {
  ExpectEachRefused(MakeSlice, Of("Slice", 13),
                    {Numbers({3}, {1, 2, 3}), Whole({1}, {0}), Whole({1}, {1}), Whole({1}, {0})}, 3,
                    {1, -2, kLowestIndex, kLargestIndex});
}

TEST(Slice, R29_StepOfZeroIsRefused) {
  ExpectEachRefused(MakeSlice, Of("Slice", 13),
                    {Numbers({3}, {1, 2, 3}), Whole({1}, {0}), Whole({1}, {1}), Whole({1}, {0}), Whole({1}, {1})}, 4,
                    {0});
}

TEST(Split, R29_SizesThatAreNotThoseOfTheInputAreRefused) {
  ExpectEachRefused(MakeSplit, Of("Split", 13), {Numbers({3}, {1, 2, 3}), Whole({2}, {1, 2})}, 1,
                    {1, 3, -1, kLowestIndex, kLargestIndex}, 2);
}

TEST(Squeeze, R29_AxisOutOfRangeIsRefused) {
  ExpectEachRefused(MakeSqueeze, Of("Squeeze", 13), {Numbers({1, 2}, {1, 2}), Whole({1}, {0})}, 1,
                    {2, -3, kLowestIndex, kLargestIndex});
}

TEST(Unsqueeze, R29_AxisOutOfRangeIsRefused) {
  ExpectEachRefused(MakeUnsqueeze, Of("Unsqueeze", 13), {Numbers({2}, {1, 2}), Whole({1}, {0})}, 1,
                    {2, -3, kLowestIndex, kLargestIndex});
}

TEST(Reshape, R29_ExtentsThatTheElementsDoNotFillAreRefused) {
  ExpectEachRefused(MakeReshape, Of("Reshape", 14), {Numbers({2, 3}, Floats(6)), Whole({2}, {2, 3})}, 1,
                    {4, -2, kLowestIndex, kLargestIndex});
}

TEST(Expand, R29_ExtentsThatDoNotBroadcastAreRefused) {
  ExpectEachRefused(MakeExpand, Of("Expand", 13), {Numbers({2}, {1, 2}), Whole({1}, {2})}, 1,
                    {-1, 3, kLowestIndex, kLargestIndex});
}

TEST(Tile, R29_RepeatsThatCannotBeAreRefused) {
  ExpectEachRefused(MakeTile, Of("Tile", 13), {Numbers({2}, {1, 2}), Whole({1}, {2})}, 1,
                    {-1, kLowestIndex, kLargestIndex});
}

TEST(Pad, R29_PadsThatCannotBeAreRefused) {
  ExpectEachRefused(MakePad, Of("Pad", 13), {Numbers({2}, {1, 2}), Whole({2}, {0, 0})}, 1,
                    {-3, kLowestIndex, kLargestIndex});
}

TEST(Pad, R29_AxisOutOfRangeIsRefused) {
  ExpectEachRefused(MakePad, Of("Pad", 18), {Numbers({2}, {1, 2}), Whole({2}, {0, 1}), Tensor(), Whole({1}, {0})}, 3,
                    {1, -2, kLowestIndex, kLargestIndex});
}

TEST(ConstantOfShape, R29_ExtentsThatCannotBeAreRefused) {
  ExpectEachRefused(MakeConstantOfShape, Of("ConstantOfShape", 9), {Whole({2}, {2, 2})}, 0,
                    {-1, kLowestIndex, kLargestIndex});
}

TEST(Range, R29_StepsThatNeverArriveAreRefused) {
  ExpectRefused(MakeRange, Of("Range", 11), {Whole({}, {0}), Whole({}, {5}), Whole({}, {0})});
  ExpectRefused(MakeRange, Of("Range", 11), {Whole({}, {kLowestIndex}), Whole({}, {kLargestIndex}), Whole({}, {1})});
  ExpectRefused(MakeRange, Of("Range", 11), {Numbers({}, {0}), Numbers({}, {NAN}), Numbers({}, {1})});
  ExpectRefused(MakeRange, Of("Range", 11), {Numbers({}, {0}), Numbers({}, {kInf}), Numbers({}, {1})});
  ExpectRefused(MakeRange, Of("Range", 11), {Numbers({}, {0}), Numbers({}, {1}), Numbers({}, {NAN})});
}

TEST(TopK, R29_CountOutOfRangeIsRefused) {
  ExpectEachRefused(MakeTopK, Of("TopK", 11), {Numbers({2}, {1, 2}), Whole({1}, {1})}, 1,
                    {3, -1, kLowestIndex, kLargestIndex}, 2);
}

TEST(Trilu, R29_DiagonalBeyondTheMatrixLeavesAllOrNothing) {
  const auto kept = [](int64_t upper, int64_t k) {
    return ValuesOf<float>(
        RunNode(MakeTrilu, Of("Trilu", 14).Set("upper", upper), {Numbers({2, 2}, {1, 2, 3, 4}), Whole({}, {k})})[0]);
  };
  const Floats all = {1, 2, 3, 4}, nothing(4, 0);
  EXPECT_EQ(kept(1, kLowestIndex), all);
  EXPECT_EQ(kept(1, kLargestIndex), nothing);
  EXPECT_EQ(kept(0, kLowestIndex), nothing);
  EXPECT_EQ(kept(0, kLargestIndex), all);
}

TEST(EyeLike, R29_DiagonalBeyondTheMatrixIsEmpty) {
  for (const int64_t k : {kLowestIndex, int64_t{-2}, int64_t{2}, kLargestIndex})
    EXPECT_EQ(ValuesOf<float>(RunNode(MakeEyeLike, Of("EyeLike", 9).Set("k", k), {Numbers({2, 2}, Floats(4))})[0]),
              Floats(4, 0));
}

TEST(Compress, R29_ConditionBehindTheEndIsRefused) {
  ExpectRefused(MakeCompress, Of("Compress", 11),
                {Numbers({2}, {1, 2}), TensorOf<uint8_t>({3}, {0, 0, 1}, DType::kBool)});
}

TEST(ReverseSequence, R29_LengthOutOfRangeIsRefused) {
  ExpectEachRefused(MakeReverseSequence, Of("ReverseSequence", 10), {Numbers({2, 1}, {1, 2}), Whole({1}, {1})}, 1,
                    {3, -1, kLowestIndex, kLargestIndex});
}

TEST(NonMaxSuppression, R29_CountsOfAnySizeAreCut) {
  const Tensor boxes = Numbers({1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}), scores = Numbers({1, 1, 2}, {1, 2});
  const auto chosen = [&](int64_t most) {
    return RunNode(MakeNonMaxSuppression, Of("NonMaxSuppression", 11), {boxes, scores, Whole({1}, {most})})[0]
        .shape()[0];
  };
  EXPECT_EQ(chosen(kLowestIndex), 0);
  EXPECT_EQ(chosen(-1), 0);
  EXPECT_EQ(chosen(kLargestIndex), 2);
}

TEST(NonMaxSuppression, R29_MoreBoxesThanAreSortedAreRefused) {
  constexpr int64_t kBoxes = (int64_t{1} << 32) + 1;
  const Result<std::vector<Tensor>> result =
      TryRunNode(MakeNonMaxSuppression, Of("NonMaxSuppression", 11),
                 {Numbers({0, kBoxes, 4}, {}), Numbers({0, 1, kBoxes}, {}), Whole({1}, {1})}, {.hide_shapes = true});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "4294967297 boxes; at most 2^32 are sorted");
}

TEST(NonMaxSuppression, R29_BoxesThatAreNoNumbersAreSurvived) {
  const Tensor boxes = Numbers({1, 2, 4}, {NAN, kInf, -kInf, NAN, NAN, NAN, NAN, NAN});
  const Tensor scores = Numbers({1, 1, 2}, {NAN, kInf});
  const std::vector<Tensor> out = RunNode(MakeNonMaxSuppression, Of("NonMaxSuppression", 11),
                                          {boxes, scores, Whole({1}, {2}), Numbers({1}, {NAN}), Numbers({1}, {0})});
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (Ints{0, 0, 1}));
}

PrimitiveBuilder RegionAlign() {
  return Of("RoiAlign", 16).Set("output_height", int64_t{1}).Set("output_width", int64_t{1});
}

TEST(RoiAlign, R29_ImageOutOfRangeIsRefused) {
  ExpectEachRefused(MakeRoiAlign, RegionAlign(),
                    {Numbers({1, 1, 2, 2}, {1, 2, 3, 4}), Numbers({1, 4}, {0, 0, 1, 1}), Whole({1}, {0})}, 2,
                    {1, -1, kLowestIndex, kLargestIndex});
}

TEST(RoiAlign, R29_RegionOfAnySizeEnds) {
  for (const float far : {1e9f, 1e30f, kInf, -kInf, NAN, -1e30f}) {
    const std::vector<Tensor> out =
        RunNode(MakeRoiAlign, RegionAlign(),
                {Numbers({1, 1, 2, 2}, {1, 2, 3, 4}), Numbers({2, 4}, {0, 0, far, far, -far, -far, far, far}),
                 Whole({2}, {0, 0})});
    ASSERT_EQ(out[0].shape(), (Shape{2, 1, 1, 1}));
    ExpectWithin(out[0], 0, 4);
  }
}

TEST(RoiAlign, R29_SamplesThatNobodyCanCountAreRefused) {
  for (const int64_t ratio : {int64_t{-1}, int64_t{1} << 31, kLowestIndex, kLargestIndex})
    ExpectRefused(MakeRoiAlign, RegionAlign().Set("sampling_ratio", ratio),
                  {Numbers({1, 1, 2, 2}, {1, 2, 3, 4}), Numbers({1, 4}, {0, 0, 1, 1}), Whole({1}, {0})});
}

TEST(MaxRoiPool, R29_RegionsAnywhereAreSurvived) {
  for (const float far : {1e9f, 1e30f, kInf, -kInf, NAN, -1e30f}) {
    const std::vector<Tensor> out =
        RunNode(MakeMaxRoiPool, Of("MaxRoiPool", 1).Set("pooled_shape", Ints{2, 2}),
                {Numbers({1, 1, 2, 2}, {1, 2, 3, 4}), Numbers({2, 5}, {far, 0, 0, 1, 1, 0, far, -far, far, -far})});
    ASSERT_EQ(out[0].shape(), (Shape{2, 1, 2, 2}));
    ExpectWithin(out[0], 0, 4);
  }
}

TEST(GridSample, R29_PositionsAnywhereAreSurvived) {
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"}) {
      const std::vector<Tensor> out = RunNode(
          MakeGridSample, Of("GridSample", 20).Set("mode", std::string(mode)).Set("padding_mode", std::string(padding)),
          {Numbers({1, 1, 2, 2}, {1, 2, 3, 4}),
           Numbers({1, 1, 4, 2}, {NAN, 0, kInf, -kInf, 1e30f, -1e30f, 3e9f, -3e9f})});
      ASSERT_EQ(out[0].shape(), (Shape{1, 1, 1, 4}));
      ExpectWithin(out[0], -4, 8);  // a cubic filter goes beyond the elements
    }
}

TEST(MaxUnpool, R29_PlaceOutOfRangeIsRefused) {
  ExpectEachRefused(MakeMaxUnpool, Of("MaxUnpool", 11).Set("kernel_shape", Ints{2, 2}).Set("strides", Ints{2, 2}),
                    {Numbers({1, 1, 1, 1}, {7}), Whole({1, 1, 1, 1}, {0})}, 1, {4, -1, kLowestIndex, kLargestIndex});
}

TEST(MaxUnpool, R29_OutputThatCannotBeIsRefused) {
  ExpectEachRefused(MakeMaxUnpool, Of("MaxUnpool", 11).Set("kernel_shape", Ints{2, 2}).Set("strides", Ints{2, 2}),
                    {Numbers({1, 1, 1, 1}, {7}), Whole({1, 1, 1, 1}, {0}), Whole({4}, {1, 1, 2, 2})}, 2,
                    {-1, 0, kLowestIndex, kLargestIndex});
}

TEST(CenterCropPad, R29_ExtentsThatCannotBeAreRefused) {
  ExpectEachRefused(MakeCenterCropPad, Of("CenterCropPad", 18), {Numbers({2}, {1, 2}), Whole({1}, {1})}, 1,
                    {-1, kLowestIndex, kLargestIndex});
}

TEST(Col2Im, R29_ImageThatTheColumnsDoNotMakeIsRefused) {
  ExpectEachRefused(MakeCol2Im, Of("Col2Im", 18),
                    {Numbers({1, 4, 1}, {1, 2, 3, 4}), Whole({2}, {2, 2}), Whole({2}, {2, 2})}, 1,
                    {3, 1, 0, -1, kLowestIndex, kLargestIndex});
}

TEST(Col2Im, R29_BlockThatTheColumnsDoNotMakeIsRefused) {
  ExpectEachRefused(MakeCol2Im, Of("Col2Im", 18),
                    {Numbers({1, 4, 1}, {1, 2, 3, 4}), Whole({2}, {2, 2}), Whole({2}, {2, 2})}, 2,
                    {3, 1, 0, -1, kLowestIndex, kLargestIndex});
}

TEST(AffineGrid, R29_SizesThatCannotBeAreRefused) {
  ExpectEachRefused(MakeAffineGrid, Of("AffineGrid", 20), {Numbers({1, 2, 3}, Floats(6)), Whole({4}, {1, 1, 2, 2})}, 1,
                    {-1, kLowestIndex, kLargestIndex});
}

TEST(Resize, R29_SizesThatCannotBeAreRefused) {
  ExpectEachRefused(MakeResize, Of("Resize", 19), {Numbers({1, 2}, {1, 2}), Tensor(), Tensor(), Whole({2}, {1, 2})}, 3,
                    {-1, kLowestIndex, kLargestIndex});
}

TEST(Upsample, R29_ScalesThatCannotBeAreRefused) {
  for (const float scale : {-1.0f, 0.0f, NAN, kInf, 1e30f})
    ExpectRefused(MakeUpsample, Of("Upsample", 9), {Numbers({1, 1, 1, 2}, {1, 2}), Numbers({4}, {1, 1, 1, scale})});
}

TEST(NegativeLogLikelihoodLoss, R29_ClassOutOfRangeIsRefused) {
  ExpectEachRefused(MakeNegativeLogLikelihoodLoss, Of("NegativeLogLikelihoodLoss", 13),
                    {Numbers({1, 2}, {0, 0}), Whole({1}, {0})}, 1, {2, -1, kLowestIndex, kLargestIndex});
}

TEST(SoftmaxCrossEntropyLoss, R29_ClassOutOfRangeIsRefused) {
  ExpectEachRefused(MakeSoftmaxCrossEntropyLoss, Of("SoftmaxCrossEntropyLoss", 13),
                    {Numbers({1, 2}, {0, 0}), Whole({1}, {0})}, 1, {2, -1, kLowestIndex, kLargestIndex});
}

TEST(SoftmaxCrossEntropyLoss, R29_IgnoredClassOfAnyNumberCostsNothing) {
  for (const int64_t ignored : {kLowestIndex, kLargestIndex, int64_t{-1}}) {
    const std::vector<Tensor> out =
        RunNode(MakeSoftmaxCrossEntropyLoss,
                Of("SoftmaxCrossEntropyLoss", 13).Set("ignore_index", ignored).Set("reduction", std::string("sum")),
                {Numbers({1, 2}, {0, 0}), Whole({1}, {ignored})});
    EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{0}));
  }
}

TEST(RotaryEmbedding, R29_PositionOutOfRangeIsRefused) {
  ExpectEachRefused(
      MakeRotaryEmbedding, Of("RotaryEmbedding", 23),
      {Numbers({1, 1, 1, 2}, {1, 2}), Numbers({2, 1}, {1, 1}), Numbers({2, 1}, {0, 0}), Whole({1, 1}, {0})}, 3,
      {2, -1, kLowestIndex, kLargestIndex});
}

TEST(DFT, R29_LengthAndAxisOutOfRangeAreRefused) {
  const Tensor signal = Numbers({1, 4, 1}, {1, 2, 3, 4});
  ExpectEachRefused(MakeDFT, Of("DFT", 20), {signal, Whole({}, {4})}, 1, {0, -1, kLowestIndex, kLargestIndex});
  ExpectEachRefused(MakeDFT, Of("DFT", 20), {signal, Tensor(), Whole({}, {1})}, 2,
                    {2, -1, 3, -4, kLowestIndex, kLargestIndex});
}

TEST(STFT, R29_FramesThatCannotBeAreRefused) {
  const Tensor signal = Numbers({1, 8, 1}, Floats(8, 1));
  ExpectEachRefused(MakeSTFT, Of("STFT", 17), {signal, Whole({}, {2}), Tensor(), Whole({}, {4})}, 1,
                    {0, -1, kLowestIndex});
  ExpectEachRefused(MakeSTFT, Of("STFT", 17), {signal, Whole({}, {2}), Tensor(), Whole({}, {4})}, 3,
                    {0, 9, -1, kLowestIndex, kLargestIndex});
}

TEST(HannWindow, R29_SizeThatCannotBeIsRefused) {
  ExpectEachRefused(MakeHannWindow, Of("HannWindow", 17), {Whole({}, {4})}, 0, {-1, kLowestIndex, kLargestIndex});
}

TEST(MelWeightMatrix, R29_SizesThatCannotBeAreRefused) {
  const std::vector<Tensor> inputs = {Whole({}, {2}), Whole({}, {8}), Whole({}, {8000}), Numbers({}, {0}),
                                      Numbers({}, {4000})};
  ExpectEachRefused(MakeMelWeightMatrix, Of("MelWeightMatrix", 17), inputs, 0, {-1, kLowestIndex, kLargestIndex});
  ExpectEachRefused(MakeMelWeightMatrix, Of("MelWeightMatrix", 17), inputs, 1, {-1, kLowestIndex, kLargestIndex});
  ExpectEachRefused(MakeMelWeightMatrix, Of("MelWeightMatrix", 17), inputs, 2, {0, -1, kLowestIndex});
}

TEST(LSTM, R29_LengthOutOfRangeIsRefused) {
  for (const int32_t length : {3, -1, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()})
    ExpectRefused(MakeLSTM, Of("LSTM", 14).Set("hidden_size", int64_t{1}),
                  {Numbers({2, 1, 1}, {1, 2}), Numbers({1, 4, 1}, Floats(4)), Numbers({1, 4, 1}, Floats(4)), Tensor(),
                   TensorOf<int32_t>({1}, {length})},
                  3);
}

TEST(ReduceSum, R29_AxisOutOfRangeIsRefused) {
  ExpectEachRefused(MakeReduceSum, Of("ReduceSum", 13), {Numbers({2, 2}, Floats(4)), Whole({1}, {0})}, 1,
                    {2, -3, kLowestIndex, kLargestIndex});
}

TEST(CumSum, R29_AxisOutOfRangeIsRefused) {
  ExpectEachRefused(MakeCumSum, Of("CumSum", 14), {Numbers({2, 2}, Floats(4)), Whole({}, {0})}, 1,
                    {2, -3, kLowestIndex, kLargestIndex});
}

}  // namespace
}  // namespace deputy::host
