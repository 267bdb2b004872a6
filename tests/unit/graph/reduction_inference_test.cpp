// Inference of the operators that work along axes.
#include <gtest/gtest.h>

#include "unit/graph/infer_one.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

PrimitiveBuilder ReduceSum(bool keep, bool noop = false) {
  PrimitiveBuilder builder("", "ReduceSum", 13);
  builder.Set("keepdims", int64_t{keep}).Set("noop_with_empty_axes", int64_t{noop});
  return builder;
}

// The axes are an input that is known only when the model runs.
Operand SomeAxes(int64_t count) { return Typed({count}, DType::kInt64); }

TEST(ReductionInference, KeptAxesBecomeOne) {
  EXPECT_EQ(InferDims(ReduceSum(true), {Typed({kN, 3, 4}), Known({-1, 0})}), (Dims{1, 3, 1}));
}

TEST(ReductionInference, OtherAxesKeepTheirSymbols) {
  EXPECT_EQ(InferDims(ReduceSum(false), {Typed({kN, 3, 4}), Known({1})}), (Dims{kN, 4}));
}

TEST(ReductionInference, NoAxesAreAllAxes) {
  EXPECT_EQ(InferDims(ReduceSum(false), {Typed({kN, 3})}), Dims{});
  EXPECT_EQ(InferDims(ReduceSum(true), {Typed({kN, 3}), Known({})}), (Dims{1, 1}));
}

TEST(ReductionInference, NoAxesAreNoneWhereAskedFor) {
  EXPECT_EQ(InferDims(ReduceSum(true, true), {Typed({kN, 3})}), (Dims{kN, 3}));
}

TEST(ReductionInference, AllAxesOfUnrankedGiveAScalar) { EXPECT_EQ(InferDims(ReduceSum(false), {Unranked()}), Dims{}); }

TEST(ReductionInference, UnknownAxesLeaveTheRankWhenKept) {
  EXPECT_EQ(InferDims(ReduceSum(true), {Typed({2, 3}), SomeAxes(kUnknownDim)}), (Dims{kUnknownDim, kUnknownDim}));
}

TEST(ReductionInference, NumberOfUnknownAxesTellsTheRank) {
  EXPECT_EQ(InferDims(ReduceSum(false), {Typed({2, 3, 4}), SomeAxes(2)}), Dims{kUnknownDim});
  EXPECT_FALSE(Infer(ReduceSum(false), {Typed({2, 3, 4}), SomeAxes(kUnknownDim)})[0].ranked);
}

TEST(ReductionInference, AxisOutOfRangeIsAnError) {
  EXPECT_EQ(InferError(ReduceSum(true), {Typed({2, 3}), Known({2})}), "axis 2 is out of range for an input of rank 2");
}

TEST(ArgReductionInference, IsInt64) {
  PrimitiveBuilder builder("", "ArgMax", 13);
  builder.Set("axis", int64_t{-1}).Set("keepdims", int64_t{0});
  const ValueType type = Infer(builder, {Typed({kN, 1000})})[0];
  EXPECT_EQ(type.dtype, DType::kInt64);
  EXPECT_EQ(type.dims, Dims{kN});
}

TEST(ArgReductionInference, OfUnrankedIsUnranked) {
  EXPECT_FALSE(Infer(PrimitiveBuilder("", "ArgMin", 13), {Unranked()})[0].ranked);
}

TEST(SoftmaxInference, AxisBehindTheLastIsForOldDefinitions) {
  PrimitiveBuilder old("", "Softmax", 1), current("", "Softmax", 13);
  old.Set("axis", int64_t{2});
  current.Set("axis", int64_t{2});
  EXPECT_EQ(InferDims(old, {Typed({3, 4})}), (Dims{3, 4}));
  EXPECT_EQ(InferError(current, {Typed({3, 4})}), "axis 2 is out of range for an input of rank 2");
}

TEST(CumSumInference, KnownAxisIsChecked) {
  const PrimitiveBuilder builder("", "CumSum", 14);
  EXPECT_EQ(InferDims(builder, {Typed({kN, 4}), KnownScalar<int64_t>(DType::kInt64, 1)}), (Dims{kN, 4}));
  EXPECT_NE(InferError(builder, {Typed({kN, 4}), KnownScalar<int64_t>(DType::kInt64, 2)}), "");
}

}  // namespace
}  // namespace deputy::host
