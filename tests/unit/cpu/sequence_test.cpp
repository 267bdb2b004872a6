// Kernels of sequences and optionals.
#include "unit/cpu/run_values.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

Tensor Row(std::initializer_list<float> values) {
  return TensorOf<float>({static_cast<int64_t>(values.size())}, values);
}
ValueInput Position(int64_t position) { return In(TensorOf<int64_t>({}, {position})); }

// The elements, each as its values.
std::vector<Floats> Elements(const ModelValue& sequence) {
  std::vector<Floats> elements;
  for (const Tensor& element : sequence.elements()) elements.push_back(ValuesOf<float>(element));
  return elements;
}
std::vector<Shape> Shapes(const ModelValue& sequence) {
  std::vector<Shape> shapes;
  for (const Tensor& element : sequence.elements()) shapes.push_back(element.shape());
  return shapes;
}

const PrimitiveBuilder kConstruct("", "SequenceConstruct", 11), kEmpty("", "SequenceEmpty", 11),
    kAt("", "SequenceAt", 11), kInsert("", "SequenceInsert", 11), kErase("", "SequenceErase", 11),
    kLength("", "SequenceLength", 11), kSplit("", "SplitToSequence", 11), kConcat("", "ConcatFromSequence", 11),
    kOptional("", "Optional", 15), kGet("", "OptionalGetElement", 18), kHas("", "OptionalHasElement", 18),
    kIdentity("", "Identity", 16);

ModelValue Numbers() { return SequenceOf({Row({1}), Row({2, 2}), Row({3})}); }

TEST(SequenceKernels, TensorsOfSeveralShapesBecomeASequence) {
  const ModelValue made = RunValues(MakeSequenceConstruct, kConstruct, {In(Row({1, 2})), In(Row({3}))});
  EXPECT_EQ(Elements(made), (std::vector<Floats>{{1, 2}, {3}}));
}

TEST(SequenceKernels, TheEmptySequenceHasItsElementType) {
  const ModelValue made = RunValues(MakeSequenceEmpty, PrimitiveBuilder(kEmpty).Set("dtype", int64_t{7}), {});
  EXPECT_TRUE(made.is_sequence());
  EXPECT_EQ(made.dtype(), DType::kInt64);
}

TEST(SequenceKernels, ElementsAreTakenFromBothEnds) {
  EXPECT_EQ(ValuesOf<float>(RunValues(MakeSequenceAt, kAt, {In(Numbers()), Position(1)}).tensor()), (Floats{2, 2}));
  EXPECT_EQ(ValuesOf<float>(RunValues(MakeSequenceAt, kAt, {In(Numbers()), Position(-1)}).tensor()), (Floats{3}));
}

TEST(SequenceKernels, PositionsOutsideAreRefused) {
  EXPECT_EQ(RunError(MakeSequenceAt, kAt, {In(Numbers()), Position(3)}), "position 3 in a sequence of 3 elements");
  EXPECT_EQ(RunError(MakeSequenceAt, kAt, {In(Numbers()), Position(-4)}), "position -4 in a sequence of 3 elements");
  EXPECT_EQ(RunError(MakeSequenceInsert, kInsert, {In(Numbers()), In(Row({9})), Position(4)}),
            "position 4 in a sequence of 3 elements");
  EXPECT_EQ(RunError(MakeSequenceErase, kErase, {In(Numbers()), Position(3)}),
            "position 3 in a sequence of 3 elements");
  EXPECT_EQ(RunError(MakeSequenceAt, kAt, {In(Numbers()), Position(INT64_MIN)}),
            "position -9223372036854775808 in a sequence of 3 elements");
}

TEST(SequenceKernels, ElementsAreInsertedWhereTheyShallBe) {
  const auto inserted = [](const std::vector<ValueInput>& inputs) {
    return Elements(RunValues(MakeSequenceInsert, kInsert, inputs));
  };
  EXPECT_EQ(inserted({In(Numbers()), In(Row({9}))}), (std::vector<Floats>{{1}, {2, 2}, {3}, {9}}));
  EXPECT_EQ(inserted({In(Numbers()), In(Row({9})), Position(0)}), (std::vector<Floats>{{9}, {1}, {2, 2}, {3}}));
  EXPECT_EQ(inserted({In(Numbers()), In(Row({9})), Position(-1)}), (std::vector<Floats>{{1}, {2, 2}, {9}, {3}}));
  EXPECT_EQ(inserted({In(Numbers()), In(Row({9})), Position(3)}), (std::vector<Floats>{{1}, {2, 2}, {3}, {9}}));
}

TEST(SequenceKernels, TheSequenceThatIsInsertedIntoStaysAsItWas) {
  const ModelValue numbers = Numbers();
  RunValues(MakeSequenceInsert, kInsert, {In(numbers), In(Row({9}))});
  EXPECT_EQ(Elements(numbers), (std::vector<Floats>{{1}, {2, 2}, {3}}));
}

TEST(SequenceKernels, ElementsThatAreThereAreSharedAndNotCopied) {
  const ModelValue numbers = Numbers();
  const ModelValue longer = RunValues(MakeSequenceInsert, kInsert, {In(numbers), In(Row({9}))});
  EXPECT_EQ(longer.elements()[1].data(), numbers.elements()[1].data());
}

TEST(SequenceKernels, TheLastElementIsErasedOrAnother) {
  EXPECT_EQ(Elements(RunValues(MakeSequenceErase, kErase, {In(Numbers())})), (std::vector<Floats>{{1}, {2, 2}}));
  EXPECT_EQ(Elements(RunValues(MakeSequenceErase, kErase, {In(Numbers()), Position(-3)})),
            (std::vector<Floats>{{2, 2}, {3}}));
  EXPECT_EQ(RunError(MakeSequenceErase, kErase, {In(SequenceOf({}))}), "nothing to erase in an empty sequence");
}

TEST(SequenceKernels, TheLengthIsANumber) {
  const Tensor length = RunValues(MakeSequenceLength, kLength, {In(Numbers())}).tensor();
  EXPECT_EQ(length.shape(), Shape());
  EXPECT_EQ(ValuesOf<int64_t>(length), (std::vector<int64_t>{3}));
}

Tensor Matrix() { return TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST(SequenceKernels, ATensorFallsIntoPartsOfOne) {
  const ModelValue columns =
      RunValues(MakeSplitToSequence, PrimitiveBuilder(kSplit).Set("axis", int64_t{-1}), {In(Matrix())});
  EXPECT_EQ(Elements(columns), (std::vector<Floats>{{1, 4}, {2, 5}, {3, 6}}));
  EXPECT_EQ(Shapes(columns), (std::vector<Shape>{{2, 1}, {2, 1}, {2, 1}}));
}

TEST(SequenceKernels, PartsOfOneMayLoseTheAxis) {
  const ModelValue rows =
      RunValues(MakeSplitToSequence, PrimitiveBuilder(kSplit).Set("keepdims", int64_t{0}), {In(Matrix())});
  EXPECT_EQ(Shapes(rows), (std::vector<Shape>{{3}, {3}}));
}

TEST(SequenceKernels, TheLastOfEqualPartsMayBeShorter) {
  const PrimitiveBuilder split = PrimitiveBuilder(kSplit).Set("axis", int64_t{1}).Set("keepdims", int64_t{0});
  const ModelValue parts = RunValues(MakeSplitToSequence, split, {In(Matrix()), Position(2)});
  EXPECT_EQ(Elements(parts), (std::vector<Floats>{{1, 2, 4, 5}, {3, 6}}));
  EXPECT_EQ(Shapes(parts), (std::vector<Shape>{{2, 2}, {2, 1}}));
}

TEST(SequenceKernels, PartsHaveTheSizesThatAreGiven) {
  const ModelValue parts = RunValues(MakeSplitToSequence, PrimitiveBuilder(kSplit).Set("axis", int64_t{1}),
                                     {In(Matrix()), In(TensorOf<int64_t>({3}, {0, 1, 2}))});
  EXPECT_EQ(Elements(parts), (std::vector<Floats>{{}, {1, 4}, {2, 3, 5, 6}}));
}

TEST(SequenceKernels, SizesThatDoNotFitAreRefused) {
  const auto error = [](const Tensor& sizes) {
    return RunError(MakeSplitToSequence, kSplit, {In(Matrix()), In(sizes)});
  };
  EXPECT_EQ(error(TensorOf<int64_t>({2}, {1, 2})), "parts of sizes [1,2] do not fit an extent of 2");
  EXPECT_EQ(error(TensorOf<int64_t>({2}, {1, -1})), "a part of size -1");
  EXPECT_EQ(error(TensorOf<int64_t>({1}, {1})), "parts of sizes [1] leave a rest of an extent of 2");
  EXPECT_EQ(error(TensorOf<int64_t>({}, {0})), "parts of size 0");
}

TEST(SequenceKernels, AnExtentWithoutBytesDoesNotFallIntoMorePartsThanMemoryHolds) {
  const Tensor endless = *Tensor::Allocate(DType::kFloat32, {int64_t{1} << 40, 0});
  EXPECT_EQ(RunError(MakeSplitToSequence, kSplit, {In(endless)}), "an extent of 1099511627776 in parts of 1");
}

TEST(SequenceKernels, ElementsAreJoinedAlongAnAxis) {
  const ModelValue parts = SequenceOf({TensorOf<float>({2, 1}, {1, 4}), TensorOf<float>({2, 2}, {2, 3, 5, 6})});
  const Tensor joined =
      RunValues(MakeConcatFromSequence, PrimitiveBuilder(kConcat).Set("axis", int64_t{-1}), {In(parts)}).tensor();
  EXPECT_EQ(joined.shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<float>(joined), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(SequenceKernels, ElementsAreStackedAlongANewAxis) {
  const PrimitiveBuilder stack = PrimitiveBuilder(kConcat).Set("axis", int64_t{1}).Set("new_axis", int64_t{1});
  const Tensor joined =
      RunValues(MakeConcatFromSequence, stack, {In(SequenceOf({Row({1, 2}), Row({3, 4}), Row({5, 6})}))}).tensor();
  EXPECT_EQ(joined.shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<float>(joined), (Floats{1, 3, 5, 2, 4, 6}));
}

TEST(SequenceKernels, ElementsThatDoNotJoinAreRefused) {
  const PrimitiveBuilder join = PrimitiveBuilder(kConcat).Set("axis", int64_t{0});
  const PrimitiveBuilder stack = PrimitiveBuilder(join).Set("new_axis", int64_t{1});
  EXPECT_EQ(RunError(MakeConcatFromSequence, stack, {In(Numbers())}),
            "elements of shapes [1] and [2] do not join along axis 0");
  EXPECT_EQ(RunError(MakeConcatFromSequence, join, {In(SequenceOf({Row({1}), Matrix()}))}),
            "elements of shapes [1] and [2,3] do not join along axis 0");
  EXPECT_EQ(RunError(MakeConcatFromSequence, join, {In(SequenceOf({}))}), "nothing to join in an empty sequence");
}

ValueInput Nothing(ValueKind kind) { return {ModelValue(), kind}; }

TEST(OptionalKernels, ATensorBecomesOneThatIsThere) {
  const ModelValue made = RunValues(MakeOptional, kOptional, {In(Row({1, 2}))});
  EXPECT_EQ(ValuesOf<float>(made.tensor()), (Floats{1, 2}));
}

TEST(OptionalKernels, WithoutAnInputThereIsNothing) {
  const PrimitiveBuilder empty = PrimitiveBuilder(kOptional).Set("type", std::string("tensor(float)"));
  EXPECT_TRUE(RunValues(MakeOptional, empty, {}).empty());
}

TEST(OptionalKernels, TheElementIsTakenOut) {
  const ModelValue row{Row({1, 2})};
  EXPECT_EQ(ValuesOf<float>(RunValues(MakeOptionalGetElement, kGet, {{row, ValueKind::kOptionalTensor}}).tensor()),
            (Floats{1, 2}));
  EXPECT_EQ(Elements(RunValues(MakeOptionalGetElement, kGet, {{Numbers(), ValueKind::kOptionalSequence}})),
            Elements(Numbers()));
  EXPECT_EQ(ValuesOf<float>(RunValues(MakeOptionalGetElement, kGet, {In(Row({1, 2}))}).tensor()), (Floats{1, 2}));
}

TEST(OptionalKernels, NothingCannotBeTakenOut) {
  EXPECT_EQ(RunError(MakeOptionalGetElement, kGet, {Nothing(ValueKind::kOptionalTensor)}), "the optional is empty");
  EXPECT_EQ(RunError(MakeOptionalGetElement, kGet, {Nothing(ValueKind::kOptionalSequence)}), "the optional is empty");
}

TEST(OptionalKernels, WhetherThereIsAnElementIsKnown) {
  const auto has = [](const std::vector<ValueInput>& inputs) {
    return ValuesOf<uint8_t>(RunValues(MakeOptionalHasElement, kHas, inputs).tensor())[0] != 0;
  };
  EXPECT_TRUE(has({{ModelValue(Row({1})), ValueKind::kOptionalTensor}}));
  EXPECT_FALSE(has({Nothing(ValueKind::kOptionalTensor)}));
  EXPECT_FALSE(has({Nothing(ValueKind::kOptionalSequence)}));
  EXPECT_TRUE(has({In(SequenceOf({}))}));
  EXPECT_TRUE(has({In(Row({1}))}));
  EXPECT_FALSE(has({}));
  EXPECT_FALSE(has({In(Tensor())}));
}

TEST(OptionalKernels, AnEmptyOptionalIsNoSequence) {
  EXPECT_EQ(RunError(MakeSequenceLength, kLength, {Nothing(ValueKind::kOptionalSequence)}),
            "the optional holds no sequence");
}

TEST(OptionalKernels, IdentityHandsOnSequencesWithoutACopy) {
  const ModelValue numbers = Numbers();
  const ModelValue same = RunValues(MakeIdentity, kIdentity, {In(numbers)});
  EXPECT_EQ(same.elements()[1].data(), numbers.elements()[1].data());
}

}  // namespace
}  // namespace deputy::host
