// Inference of the operators that look at shapes or change them.
#include <gtest/gtest.h>

#include "unit/graph/infer_one.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

const PrimitiveBuilder kReshape("", "Reshape", 14);
const PrimitiveBuilder kSqueeze("", "Squeeze", 13);
const PrimitiveBuilder kUnsqueeze("", "Unsqueeze", 13);
const PrimitiveBuilder kExpand("", "Expand", 13);
const PrimitiveBuilder kRange("", "Range", 11);

// The extent of an input is any number of a model, and here it is a rank.
TEST(ShapeInference, R6_ARankOfAnEnormousExtentTakesNoMemory) {
  const Operand shape = Typed({int64_t{1} << 40}, DType::kInt64);
  const PrimitiveBuilder tile("", "Tile", 13), constant("", "ConstantOfShape", 9);
  const std::string too_high = "has rank 65, expected at most 64";
  EXPECT_EQ(InferError(kReshape, {Typed({2}), shape}), too_high);
  EXPECT_EQ(InferError(kUnsqueeze, {Typed({2}), shape}), too_high);
  EXPECT_EQ(InferError(tile, {Unranked(), shape}), too_high);
  EXPECT_EQ(InferError(constant, {shape}), too_high);
  EXPECT_EQ(InferError(kExpand, {Typed({2}), shape}), too_high);
}

TEST(ReshapeInference, WithACopiedZeroTheOtherExtentsAreFree) {
  EXPECT_EQ(InferDims(kReshape, {Typed({2, 0}), Known({1, 0, 1})}), (Dims{1, 0, 1}));
}

TEST(ReshapeInference, AnOpenExtentBesideACopyThatMayBeZeroStaysOpen) {
  EXPECT_EQ(InferDims(kReshape, {Typed({0, 3}), KnownInts({KnownInt(0), PartialInt()})}), (Dims{0, kUnknownDim}));
  EXPECT_EQ(InferDims(kReshape, {Typed({kN, 3}), KnownInts({KnownInt(0), PartialInt()})}), (Dims{kN, kUnknownDim}));
  EXPECT_EQ(InferDims(kReshape, {Typed({2, 3}), KnownInts({KnownInt(0), PartialInt()})}), (Dims{2, 3}));
}

TEST(ReshapeInference, SymbolIsCopied) {
  EXPECT_EQ(InferDims(kReshape, {Typed({kN, 3, 4}), Known({0, -1})}), (Dims{kN, 12}));
}

TEST(ReshapeInference, MinusOneTakesTheSymbolWhenTheKnownPartsCancel) {
  EXPECT_EQ(InferDims(kReshape, {Typed({kN, 3, 4}), Known({-1, 12})}), (Dims{kN, 12}));
}

TEST(ReshapeInference, MinusOneStaysUnknownWhenTheSymbolIsSpread) {
  EXPECT_EQ(InferDims(kReshape, {Typed({kN, 3, 4}), Known({-1, 6})}), (Dims{kUnknownDim, 6}));
}

TEST(ReshapeInference, CopiedUnknownExtentCancelsItself) {
  EXPECT_EQ(InferDims(kReshape, {Typed({kUnknownDim, 8}), Known({0, 2, -1})}), (Dims{kUnknownDim, 2, 4}));
}

TEST(ReshapeInference, AllowZeroBesideMinusOneIsRefused) {
  PrimitiveBuilder builder = kReshape;
  builder.Set("allowzero", int64_t{1});
  EXPECT_EQ(InferError(builder, {Typed({0, 3}), Known({0, -1})}),
            "cannot reshape to [0,-1]: -1 and 0 cannot be combined when allowzero is set");
}

TEST(ReshapeInference, ElementsThatDoNotFitAreNamed) {
  EXPECT_EQ(InferError(kReshape, {Typed({2, 3}), Known({4, -1})}), "cannot reshape [2,3] (6 elements) to [4,-1]");
  EXPECT_EQ(InferError(kReshape, {Typed({2, 3}), Known({4, 2})}), "cannot reshape [2,3] (6 elements) to [4,2]");
}

TEST(ReshapeInference, TwoMinusOnesAreRefused) {
  EXPECT_EQ(InferError(kReshape, {Typed({2, 3}), Known({-1, -1})}),
            "cannot reshape to [-1,-1]: at most one extent can be -1");
}

TEST(ReshapeInference, ZeroBehindTheInputsRankIsRefused) {
  EXPECT_EQ(InferError(kReshape, {Typed({2}), Known({2, 0})}),
            "cannot reshape [2] to [2,0]: a 0 at index 1 exceeds the input rank");
}

TEST(ReshapeInference, LengthOfAnUnknownShapeGivesTheRank) {
  EXPECT_EQ(InferDims(kReshape, {Typed({2, 3}), Typed({3}, DType::kInt64)}), (Dims{-1, -1, -1}));
}

TEST(ReshapeInference, UnknownLengthGivesNoRank) {
  EXPECT_FALSE(Infer(kReshape, {Typed({2, 3}), Typed({kUnknownDim}, DType::kInt64)})[0].ranked);
}

TEST(ReshapeInference, UnrankedInputKeepsTheKnownExtents) {
  EXPECT_EQ(InferDims(kReshape, {Unranked(), Known({0, -1, 5})}), (Dims{-1, -1, 5}));
}

TEST(ReshapeInference, MissingShapeIsRefused) {
  EXPECT_EQ(InferError(kReshape, {Typed({1, 1})}), "input 'shape' is missing");
}

TEST(FlattenInference, AxesCountFromTheEndSinceDefinition11) {
  const auto flatten = [](int32_t version) {
    return PrimitiveBuilder("", "Flatten", version).Set("axis", int64_t{-1});
  };
  EXPECT_EQ(InferDims(flatten(11), {Typed({2, 3, 4})}), (Dims{6, 4}));
  EXPECT_EQ(InferError(flatten(9), {Typed({2, 3, 4})}),
            "axis -1 is out of range for an input of rank 3, expected 0 to 3");
}

TEST(FlattenInference, SymbolAloneInFrontIsKept) {
  EXPECT_EQ(InferDims(PrimitiveBuilder("", "Flatten", 13), {Typed({kN, 3, 4})}), (Dims{kN, 12}));
}

TEST(SqueezeInference, NamedAxesGo) {
  EXPECT_EQ(InferDims(kSqueeze, {Typed({1, kN, 1, 3}), Known({0, -2})}), (Dims{kN, 3}));
}

TEST(SqueezeInference, WithoutAxesASymbolLeavesTheRankOpen) {
  EXPECT_FALSE(Infer(kSqueeze, {Typed({1, kN})})[0].ranked);
}

TEST(SqueezeInference, ExtentThatIsNotOneIsRefused) {
  EXPECT_EQ(InferError(kSqueeze, {Typed({1, 2}), Known({1})}),
            "cannot squeeze axis 1 of shape [1,2]: its extent is not 1");
}

TEST(UnsqueezeInference, AxesCountInTheResult) {
  EXPECT_EQ(InferDims(kUnsqueeze, {Typed({kN, 3}), Known({-1, 0})}), (Dims{1, kN, 3, 1}));
}

TEST(UnsqueezeInference, AxisNamedTwiceIsRefused) {
  EXPECT_EQ(InferError(kUnsqueeze, {Typed({2}), Known({0, -3})}), "axis -3 is repeated");
}

TEST(ExpandInference, BroadcastsBothWays) {
  EXPECT_EQ(InferDims(kExpand, {Typed({kN, 1}), Known({3, 1, 5})}), (Dims{3, kN, 5}));
}

TEST(ExpandInference, UnknownShapeOfKnownLengthGivesTheRank) {
  EXPECT_EQ(InferDims(kExpand, {Typed({4, 1}), Typed({3}, DType::kInt64)}), (Dims{-1, 4, -1}));
}

TEST(ShapeInference, StartAndEndAreClamped) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Shape", 15).Set("start", int64_t{-9}).Set("end", int64_t{-1});
  const ValueType type = Infer(builder, {Typed({kN, 3, 4})})[0];
  EXPECT_EQ(type.dims, (Dims{2}));
  EXPECT_EQ(type.dtype, DType::kInt64);
}

TEST(ShapeInference, StartBehindEndIsEmpty) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Shape", 15).Set("start", int64_t{2}).Set("end", int64_t{1});
  EXPECT_EQ(InferDims(builder, {Typed({1, 2, 3})}), (Dims{0}));
}

TEST(ConstantOfShapeInference, NegativeExtentIsRefused) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "ConstantOfShape", 9), {Known({2, -1})}),
            "shape [2,-1] has a negative extent");
}

TEST(RangeInference, DistanceWiderThanInt64DoesNotOverflow) {
  EXPECT_EQ(InferDims(kRange, {KnownScalar(DType::kInt64, INT64_MAX), KnownScalar(DType::kInt64, INT64_MIN),
                               KnownScalar(DType::kInt64, INT64_MIN)}),
            (Dims{2}));
}

TEST(RangeInference, LimitIsLeftOut) {
  for (const auto& [limit, count] : {std::pair{int64_t{9}, 5}, std::pair{int64_t{10}, 5}, std::pair{int64_t{11}, 6}})
    EXPECT_EQ(InferDims(kRange, {KnownScalar(DType::kInt64, int64_t{0}), KnownScalar(DType::kInt64, limit),
                                 KnownScalar(DType::kInt64, int64_t{2})}),
              (Dims{count}));
}

TEST(RangeInference, StepOfZeroIsRefused) {
  EXPECT_EQ(InferError(kRange, {KnownScalar(DType::kInt32, int32_t{0}), KnownScalar(DType::kInt32, int32_t{1}),
                                KnownScalar(DType::kInt32, int32_t{0})}),
            "delta must not be 0");
}

TEST(EyeLikeInference, DtypeAttributeWins) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "EyeLike", 9).Set("dtype", int64_t{11});
  const ValueType type = Infer(builder, {Typed({2, kN}, DType::kInt32)})[0];
  EXPECT_EQ(type.dtype, DType::kFloat64);
  EXPECT_EQ(type.dims, (Dims{2, kN}));
}

TEST(InferEyeLike, ADTypeThatDoesNotExistIsRefused) {
  for (const int64_t dtype : {0, 33, 27})
    EXPECT_EQ(InferError(PrimitiveBuilder("", "EyeLike", 9).Set("dtype", dtype), {Typed({2, 2})}),
              "attribute 'dtype' is " + std::to_string(dtype) + (dtype == 27 ? " (float6e2m3)" : "") +
                  ", which is not a supported element type");
}

TEST(InferNode, ElementTypesOfOnnxThatTensorsDoNotHaveAreNamed) {
  const Operand x = Typed({2, 2}), scalar = KnownScalar(DType::kInt64, int64_t{4});
  struct {
    const char *op, *attribute;
    int version;
    std::vector<Operand> operands;
  } const cases[] = {{"Cast", "to", 13, {x}},
                     {"BitCast", "to", 26, {x}},
                     {"EyeLike", "dtype", 9, {x}},
                     {"RandomNormal", "dtype", 1, {}},
                     {"RandomUniformLike", "dtype", 1, {x}},
                     {"Bernoulli", "dtype", 15, {x}},
                     {"Multinomial", "dtype", 7, {x}},
                     {"QuantizeLinear", "output_dtype", 23, {x, Typed({})}},
                     {"DequantizeLinear", "output_dtype", 23, {Typed({2, 2}, DType::kInt8), Typed({})}},
                     {"HannWindow", "output_datatype", 17, {scalar}},
                     {"SequenceEmpty", "dtype", 11, {}}};
  for (const auto& one : cases)
    for (const auto& [number, name] :
         {std::pair{int64_t{27}, "float6e2m3"}, {int64_t{28}, "float6e3m2"}, {int64_t{14}, "complex64"}}) {
      PrimitiveBuilder builder("", one.op, one.version);
      builder.Set(one.attribute, number);
      if (std::string_view(one.op) == "RandomNormal") builder.Set("shape", std::vector<int64_t>{2});
      const Result<std::vector<ValueType>> types = TryInfer(builder, one.operands);
      ASSERT_FALSE(types.ok()) << one.op;
      EXPECT_EQ(types.status().code(), StatusCode::kNotSupported) << one.op;
      EXPECT_EQ(types.status().message(), "attribute '" + std::string(one.attribute) + "' is " +
                                              std::to_string(number) + " (" + name +
                                              "), which is not a supported element type")
          << one.op;
    }
}

TEST(InferNode, AnOutputHasACountableSizeAndRank) {
  const Operand half = Typed({int64_t{1} << 24, 1}), other = Typed({1, int64_t{1} << 25});
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Add", 14), {half, other}),
            "shape [16777216,33554432] has more than 281474976710656 elements");
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Reshape", 13), {Typed({1}), Known(std::vector<int64_t>(65, 1))}),
            "has rank 65, expected at most 64");
}

}  // namespace
}  // namespace deputy::host
