// Inference of the operators that work element by element.
#include <gtest/gtest.h>

#include "unit/graph/infer_one.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

const PrimitiveBuilder kAdd("", "Add", 14);
const PrimitiveBuilder kPRelu("", "PRelu", 16);

TEST(ElementwiseInference, UnaryKeepsSymbols) {
  EXPECT_EQ(InferDims(PrimitiveBuilder("", "Relu", 14), {Typed({kN, 3, kUnknownDim})}), (Dims{kN, 3, kUnknownDim}));
}

TEST(ElementwiseInference, UnaryOfUnrankedIsUnranked) {
  const ValueType type = Infer(PrimitiveBuilder("", "Exp", 13), {Unranked(DType::kFloat16)})[0];
  EXPECT_FALSE(type.ranked);
  EXPECT_EQ(type.dtype, DType::kFloat16);
}

TEST(BroadcastInference, SameSymbolsStay) {
  EXPECT_EQ(InferDims(kAdd, {Typed({kN, 4}), Typed({kN, 1})}), (Dims{kN, 4}));
}

TEST(BroadcastInference, ScalarTakesTheOtherShape) {
  EXPECT_EQ(InferDims(kAdd, {Typed({}), Typed({kN, 4})}), (Dims{kN, 4}));
}

TEST(BroadcastInference, UnrankedInputLeavesNoRank) { EXPECT_FALSE(Infer(kAdd, {Typed({2}), Unranked()})[0].ranked); }

TEST(BroadcastInference, ClashIsAnError) {
  EXPECT_EQ(InferError(kAdd, {Typed({2, 3}), Typed({4})}), "shapes [2,3] and [4] cannot be broadcast together");
}

TEST(BroadcastInference, TypesThatDifferAreAnError) {
  EXPECT_EQ(InferError(kAdd, {Typed({2}), Typed({2}, DType::kInt32)}),
            "inputs must have the same dtype, got float32 and int32");
}

TEST(BroadcastInference, UnknownTypeTakesThatOfTheOther) {
  EXPECT_EQ(Infer(kAdd, {Unranked(DType::kUndefined), Typed({2}, DType::kInt64)})[0].dtype, DType::kInt64);
}

TEST(BroadcastInference, SumAndRelatedOperatorsDoNotBroadcastBeforeDefinition8) {
  for (const char* op : {"Sum", "Max", "Min", "Mean"}) {
    EXPECT_EQ(InferError(PrimitiveBuilder("", op, 6), {Typed({2, 3}), Typed({2, 3}), Typed({3})}),
              fmt::format("operands must have one shape before {}-8, got [2,3] and [3]", op));
    EXPECT_EQ(InferDims(PrimitiveBuilder("", op, 6), {Typed({kN, 3}), Typed({2, kN})}), (Dims{2, 3}));
    EXPECT_EQ(InferDims(PrimitiveBuilder("", op, 8), {Typed({2, 3}), Typed({3})}), (Dims{2, 3}));
  }
}

TEST(BroadcastInference, LeftOutInputIsAnError) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Sum", 13), {Typed({1}), LeftOut()}), "input 1 is missing");
}

TEST(PReluInference, SlopeDoesNotWidenTheInput) {
  EXPECT_EQ(InferDims(kPRelu, {Typed({kN, 3, 4}), Typed({3, 1})}), (Dims{kN, 3, 4}));
  EXPECT_EQ(InferError(kPRelu, {Typed({1, 4}), Typed({3, 1})}),
            "slope with shape [3,1] cannot be broadcast to shape [1,4]");
}

TEST(WhereInference, ConditionMustBeBool) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Where", 16), {Typed({2}), Typed({2}), Typed({2})}),
            "condition has dtype float32, expected bool");
}

TEST(CastInference, TypeIsTheOneAskedFor) {
  PrimitiveBuilder cast("", "Cast", 13);
  cast.Set("to", int64_t{9});
  const ValueType type = Infer(cast, {Typed({kN, 2})})[0];
  EXPECT_EQ(type.dtype, DType::kBool);
  EXPECT_EQ(type.dims, (Dims{kN, 2}));
}

TEST(CastInference, NumberOfNoTypeIsAnError) {
  PrimitiveBuilder cast("", "Cast", 13);
  for (const int64_t number : {int64_t{-1}, int64_t{0}, int64_t{99}, int64_t{1} << 32}) {
    cast.Set("to", number);
    EXPECT_NE(InferError(cast, {Typed({2})}), "") << number;
  }
}

TEST(CastInference, LikeTakesTheTypeOfTheOtherInput) {
  EXPECT_EQ(Infer(PrimitiveBuilder("", "CastLike", 15), {Typed({2}), Unranked(DType::kUint8)})[0].dtype, DType::kUint8);
}

TEST(DropoutInference, MaskIsBoolOfTheSameShape) {
  const std::vector<ValueType> types = Infer(PrimitiveBuilder("", "Dropout", 13), {Typed({kN, 2})}, 2);
  EXPECT_EQ(types[0].dtype, DType::kFloat32);
  EXPECT_EQ(types[1].dtype, DType::kBool);
  EXPECT_EQ(types[1].dims, (Dims{kN, 2}));
}

}  // namespace
}  // namespace deputy::host
