// What is known of sequences and optionals before a run.
#include "unit/graph/infer_one.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

Operand SequenceOf(Dims dims, DType dtype = DType::kFloat32) {
  return {{dtype, true, std::move(dims), ValueKind::kSequence}, {}};
}
Operand OptionalOf(ValueKind kind) { return {{DType::kFloat32, true, {2}, kind}, {}}; }

ValueType InferOne(const PrimitiveBuilder& builder, const std::vector<Operand>& operands) {
  return Infer(builder, operands)[0];
}

const PrimitiveBuilder kConstruct("", "SequenceConstruct", 11), kAt("", "SequenceAt", 11),
    kInsert("", "SequenceInsert", 11), kSplit("", "SplitToSequence", 11), kConcat("", "ConcatFromSequence", 11),
    kOptional("", "Optional", 15), kGet("", "OptionalGetElement", 18);

TEST(SequenceInference, ElementsKeepTheExtentsThatAllOfThemHave) {
  const ValueType made = InferOne(kConstruct, {Typed({2, 3}), Typed({4, 3})});
  EXPECT_EQ(made.kind, ValueKind::kSequence);
  EXPECT_EQ(made.dims, (Dims{kUnknownDim, 3}));
}

TEST(SequenceInference, ElementsOfSeveralRanksHaveNone) {
  EXPECT_FALSE(InferOne(kConstruct, {Typed({2}), Typed({2, 1})}).ranked);
}

TEST(SequenceInference, ElementsOfSeveralTypesAreRefused) {
  EXPECT_EQ(InferError(kConstruct, {Typed({2}), Typed({2}, DType::kInt64)}),
            "the elements of a sequence must have the same dtype, got float32 and int64");
}

TEST(SequenceInference, AnElementHasTheTypeOfTheSequence) {
  const ValueType element = InferOne(kAt, {SequenceOf({2, 3}, DType::kInt8), Typed({}, DType::kInt64)});
  EXPECT_TRUE(element.is_static());
  EXPECT_EQ(element.dtype, DType::kInt8);
  EXPECT_EQ(element.dims, (Dims{2, 3}));
}

TEST(SequenceInference, InsertingForgetsExtentsInWhichTheNewElementDiffers) {
  EXPECT_EQ(InferOne(kInsert, {SequenceOf({2, 3}), Typed({2, 5})}).dims, (Dims{2, kUnknownDim}));
}

TEST(SequenceInference, ATensorWhereASequenceIsTakenIsRefused) {
  EXPECT_EQ(InferError(kAt, {Typed({2}), Typed({}, DType::kInt64)}), "input 0 must be a sequence");
}

TEST(SequenceInference, ASequenceWhereATensorIsTakenIsRefused) {
  EXPECT_EQ(InferError(PrimitiveBuilder("", "Relu", 14), {SequenceOf({2})}),
            "input 0 is a sequence, expected a tensor");
  EXPECT_EQ(InferError(kInsert, {SequenceOf({2}), SequenceOf({2})}), "input 1 must be a tensor");
}

TEST(SequenceInference, PositionsAreIntegers) {
  EXPECT_EQ(InferError(kAt, {SequenceOf({2}), Typed({})}), "position has dtype float32, expected int32 or int64");
}

TEST(SequenceInference, SplittingLeavesPartsOfOne) {
  EXPECT_EQ(InferOne(kSplit, {Typed({3, 4})}).dims, (Dims{1, 4}));
  EXPECT_EQ(InferOne(PrimitiveBuilder(kSplit).Set("keepdims", int64_t{0}), {Typed({3, 4})}).dims, (Dims{4}));
}

TEST(SequenceInference, PartsOfOneSizeHaveItAndOthersNone) {
  EXPECT_EQ(InferOne(kSplit, {Typed({6}), Known({3, 3})}).dims, (Dims{3}));
  EXPECT_EQ(InferOne(kSplit, {Typed({6}), Known({4, 2})}).dims, (Dims{kUnknownDim}));
  EXPECT_EQ(InferOne(kSplit, {Typed({6}), KnownScalar<int64_t>(DType::kInt64, 2)}).dims, (Dims{2}));
  EXPECT_EQ(InferOne(kSplit, {Typed({7}), KnownScalar<int64_t>(DType::kInt64, 2)}).dims, (Dims{kUnknownDim}));
}

TEST(SequenceInference, JoinedElementsHaveAnUnknownExtentAlongTheAxis) {
  EXPECT_EQ(InferOne(PrimitiveBuilder(kConcat).Set("axis", int64_t{1}), {SequenceOf({2, 3})}).dims,
            (Dims{2, kUnknownDim}));
  EXPECT_EQ(
      InferOne(PrimitiveBuilder(kConcat).Set("axis", int64_t{-1}).Set("new_axis", int64_t{1}), {SequenceOf({2, 3})})
          .dims,
      (Dims{2, 3, kUnknownDim}));
}

TEST(SequenceInference, AnOptionalIsWhatItsTypeSays) {
  const ValueType empty = InferOne(PrimitiveBuilder(kOptional).Set("type", std::string("seq(tensor(int32))")), {});
  EXPECT_EQ(empty.kind, ValueKind::kOptionalSequence);
  EXPECT_EQ(empty.dtype, DType::kInt32);
  EXPECT_EQ(InferOne(kOptional, {Typed({2})}).kind, ValueKind::kOptionalTensor);
  EXPECT_EQ(InferError(kOptional, {}), "an input or the attribute 'type' is required");
}

TEST(SequenceInference, TheElementOfAnOptionalIsATensorOrASequence) {
  EXPECT_TRUE(InferOne(kGet, {OptionalOf(ValueKind::kOptionalTensor)}).is_static());
  EXPECT_EQ(InferOne(kGet, {OptionalOf(ValueKind::kOptionalSequence)}).kind, ValueKind::kSequence);
  EXPECT_TRUE(InferOne(kGet, {Typed({2})}).is_static());
}

TEST(SequenceInference, ASequenceStandsForAnOptionalOneAndNotForATensor) {
  EXPECT_EQ(CommonKind(ValueKind::kSequence, ValueKind::kOptionalSequence), ValueKind::kOptionalSequence);
  EXPECT_EQ(CommonKind(ValueKind::kOptionalTensor, ValueKind::kTensor), ValueKind::kOptionalTensor);
  EXPECT_EQ(CommonKind(ValueKind::kTensor, ValueKind::kSequence), std::nullopt);
  EXPECT_EQ(CommonKind(ValueKind::kOptionalTensor, ValueKind::kOptionalSequence), std::nullopt);
}

TEST(SequenceInference, TypesSayWhatTheyAre) {
  EXPECT_EQ(Describe(Graph(), {DType::kFloat32, true, {2, kUnknownDim}, ValueKind::kSequence}),
            "sequence of float32 [2,?]");
  EXPECT_EQ(Describe(Graph(), {DType::kInt8, false, {}, ValueKind::kOptionalTensor}), "optional int8 of unknown rank");
}

}  // namespace
}  // namespace deputy::host
