// Inference of the operators that move elements without computing.
#include <gtest/gtest.h>

#include "unit/graph/infer_one.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

PrimitiveBuilder WithAxis(const char* op, int32_t version, int64_t axis) {
  return PrimitiveBuilder("", op, version).Set("axis", axis);
}
const PrimitiveBuilder kSlice("", "Slice", 13);
const PrimitiveBuilder kPad("", "Pad", 13);

TEST(ConcatInference, AxisAddsUpAndKnownExtentsWin) {
  EXPECT_EQ(InferDims(WithAxis("Concat", 13, 1), {Typed({kN, 2}), Typed({4, 3})}), (Dims{4, 5}));
}

TEST(ConcatInference, SymbolAlongTheAxisLeavesItUnknown) {
  EXPECT_EQ(InferDims(WithAxis("Concat", 13, -1), {Typed({4, kN}), Typed({4, 3})}), (Dims{4, -1}));
}

TEST(ConcatInference, OneRankedInputGivesTheRank) {
  EXPECT_EQ(InferDims(WithAxis("Concat", 13, 0), {Unranked(), Typed({4, 3})}), (Dims{-1, 3}));
}

TEST(ConcatInference, ExtentsThatClashAreRefused) {
  EXPECT_EQ(InferError(WithAxis("Concat", 13, 0), {Typed({4, 2}), Typed({4, 3})}),
            "cannot concatenate shapes [?,2] and [4,3] along axis 0");
}

TEST(ConcatInference, TypesThatDifferAreRefused) {
  EXPECT_EQ(InferError(WithAxis("Concat", 13, 0), {Typed({4}), Typed({4}, DType::kInt64)}),
            "cannot concatenate dtypes float32 and int64");
}

TEST(SliceInference, WholeAxisKeepsItsSymbol) {
  EXPECT_EQ(InferDims(kSlice, {Typed({kN, 8}), Known({0, 2}), Known({INT64_MAX, 4})}), (Dims{kN, 2}));
}

TEST(SliceInference, UnknownStartsLeaveTheOtherAxes) {
  EXPECT_EQ(InferDims(kSlice, {Typed({6, 8}), Typed({1}, DType::kInt64), Typed({1}, DType::kInt64), Known({1})}),
            (Dims{6, -1}));
}

TEST(SliceInference, StepZeroIsRefused) {
  EXPECT_EQ(InferError(kSlice, {Typed({6}), Known({0}), Known({6}), Known({0}), Known({0})}),
            "the step along axis 0 must not be 0");
}

TEST(SplitInference, SizesAreTaken) {
  const std::vector<ValueType> types = Infer(WithAxis("Split", 13, 1), {Typed({kN, 5}), Known({2, 3})}, 2);
  EXPECT_EQ(types[0].dims, (Dims{kN, 2}));
  EXPECT_EQ(types[1].dims, (Dims{kN, 3}));
}

TEST(SplitInference, UnevenPartsAreRefusedBeforeOpset18) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Split", 13), {Typed({7})}, 3),
            "an extent of 7 cannot be split into 3 equal parts");
}

TEST(SplitInference, Definition18NeedsEitherSizesOrACount) {
  const PrimitiveBuilder split("", "Split", 18);
  const PrimitiveBuilder counted = PrimitiveBuilder(split).Set("num_outputs", int64_t{2});
  EXPECT_EQ(InferError(split, {Typed({4})}, 2),
            "needs either input 1 ('split') or attribute 'num_outputs', got neither");
  EXPECT_EQ(InferError(counted, {Typed({4}), Known({1, 3})}, 2),
            "needs either input 1 ('split') or attribute 'num_outputs', got both");
  EXPECT_TRUE(TryInfer(split, {Typed({4}), Known({1, 3})}, 2).ok());
  EXPECT_TRUE(TryInfer(counted, {Typed({4})}, 2).ok());
}

TEST(SplitInference, SizesThatDoNotAddUpAreRefused) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Split", 13), {Typed({7}), Known({3, 3})}, 2),
            "the split sizes add up to 6, expected the extent 7");
}

TEST(PadInference, UnpaddedSymbolStays) {
  EXPECT_EQ(InferDims(kPad, {Typed({kN, 5}), Known({0, 1, 0, 1})}), (Dims{kN, 7}));
}

TEST(PadInference, CroppingMoreThanThereIsIsRefused) {
  EXPECT_EQ(InferError(kPad, {Typed({4}), Known({-3, -2})}), "pads -3 and -2 crop more than the extent 4");
}

TEST(PadInference, UnknownModeIsRefused) {
  PrimitiveBuilder builder = kPad;
  builder.Set("mode", std::string("mirror"));
  EXPECT_EQ(InferError(builder, {Typed({4}), Known({1, 1})}),
            "mode must be constant, reflect, edge or wrap, got 'mirror'");
}

TEST(TileInference, SymbolRepeatedOnceStays) {
  EXPECT_EQ(InferDims(PrimitiveBuilder("", "Tile", 13), {Typed({kN, 3}), Known({1, 4})}), (Dims{kN, 12}));
}

TEST(TileInference, OverflowIsRefused) {
  EXPECT_NE(InferError(PrimitiveBuilder("", "Tile", 13), {Typed({1 << 20}), Known({INT64_MAX})}), "");
}

TEST(TransposeInference, PermutesSymbols) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Transpose", 13).Set("perm", Dims{2, 0, 1});
  EXPECT_EQ(InferDims(builder, {Typed({kN, 3, 4})}), (Dims{4, kN, 3}));
}

TEST(TransposeInference, ReversesWithoutPerm) {
  EXPECT_EQ(InferDims(PrimitiveBuilder("", "Transpose", 13), {Typed({kN, 3, 4})}), (Dims{4, 3, kN}));
}

TEST(TransposeInference, PermBeyondItsOwnLengthIsRefusedOfAnyRank) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Transpose", 13).Set("perm", Dims{0, 99999999});
  EXPECT_EQ(InferError(builder, {Unranked()}), "axis 99999999 is out of range for an input of rank 2");
}

TEST(TransposeInference, PermThatNamesAnAxisTwiceIsRefused) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Transpose", 13).Set("perm", Dims{0, 0});
  EXPECT_EQ(InferError(builder, {Typed({2, 3})}), "axis 0 is repeated");
}

TEST(DepthToSpaceInference, DepthShrinksBySquare) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "DepthToSpace", 13).Set("blocksize", int64_t{2});
  EXPECT_EQ(InferDims(builder, {Typed({kN, 8, 2, 3})}), (Dims{kN, 2, 4, 6}));
}

TEST(SpaceToDepthInference, ExtentThatIsNoMultipleIsRefused) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "SpaceToDepth", 13).Set("blocksize", int64_t{2});
  EXPECT_EQ(InferError(builder, {Typed({1, 2, 3, 4})}), "an extent of 3 is not a multiple of 2");
}

TEST(GatherInference, IndicesReplaceTheAxis) {
  EXPECT_EQ(InferDims(WithAxis("Gather", 13, 1), {Typed({kN, 5, 6}), Typed({2, 3}, DType::kInt64)}),
            (Dims{kN, 2, 3, 6}));
}

TEST(GatherInference, FloatIndicesAreRefused) {
  EXPECT_EQ(InferError(WithAxis("Gather", 13, 0), {Typed({4, 5}), Typed({})}),
            "indices has dtype float32, expected int32 or int64");
}

TEST(GatherElementsInference, IndicesBeyondTheDataAreRefused) {
  EXPECT_NE(InferError(WithAxis("GatherElements", 13, 0), {Typed({4, 5}), Typed({2, 6}, DType::kInt64)}), "");
}

TEST(GatherNDInference, SlicesFollowTheTuples) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "GatherND", 13).Set("batch_dims", int64_t{1});
  EXPECT_EQ(InferDims(builder, {Typed({kN, 3, 4, 5}), Typed({2, 6, 1}, DType::kInt64)}), (Dims{2, 6, 4, 5}));
}

TEST(GatherNDInference, TupleLongerThanTheDataIsRefused) {
  EXPECT_NE(InferError(PrimitiveBuilder("", "GatherND", 13), {Typed({3, 4}), Typed({2, 3}, DType::kInt64)}), "");
}

TEST(TriluInference, VectorIsRefused) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Trilu", 14), {Typed({3})}),
            "input must have at least rank 2, got shape [3]");
}

// The lists that are not given are as long as this one, which may have any declared length.
TEST(InferSlice, MoreStartsThanAxesAreRefused) {
  const Operand many = Typed({int64_t{1} << 40}, DType::kInt64);
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Slice", 13), {Typed({2, 3}), many, many}),
            "starts has 1099511627776 elements, expected at most 64");
}

TEST(InferUnsqueeze, MoreAxesThanATensorMayHaveAreRefused) {
  std::vector<int64_t> axes(500'000);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Unsqueeze", 13), {Typed({2}), Known(axes)}),
            "500000 axes are listed, expected at most 64");
}

}  // namespace
}  // namespace deputy::host
