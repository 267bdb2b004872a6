// Kernels of sequences and optionals.
#include <atomic>

#include "base/cancellation.hpp"
#include "tensor/held_value.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

ModelValue SequenceOf(std::vector<Tensor> elements, DType dtype = DType::kFloat32) {
  return ModelValue::Sequence(dtype, std::move(elements)).value();
}

// An input: a value, and what the model says it is. An empty one of kind kTensor is left out.
struct ValueInput {
  ModelValue value;
  ValueKind kind = ValueKind::kTensor;
  DType dtype = DType::kFloat32;  // of an empty optional
};
ValueInput In(Tensor tensor) { return {std::move(tensor)}; }
ValueInput In(ModelValue sequence) { return {std::move(sequence), ValueKind::kSequence}; }

// The place of one output: memory for a tensor, a value for anything else.
class OutputPlace final : public OutputAllocator {
 public:
  explicit OutputPlace(const ValueType& type) : is_tensor_(type.is_tensor()) {
    passed_.dtype = static_cast<deputy_dtype>(type.dtype);
    if (!is_tensor_) passed_.memory = kHeldMemory;
  }
  Status Allocate(deputy_tensor*, std::span<const int64_t> dims) override {
    if (!is_tensor_) return Status(StatusCode::kInternal, "no tensor was planned");
    DEPUTY_ASSIGN_OR_RETURN(tensor_,
                            Tensor::Allocate(static_cast<DType>(passed_.dtype), Shape(dims.begin(), dims.end())));
    passed_ = AbiTensor(tensor_);
    return {};
  }
  Status Hold(deputy_tensor*, ModelValue value) override {
    if (is_tensor_) return Status(StatusCode::kInternal, "a tensor was planned");
    value_ = std::move(value);
    return {};
  }
  deputy_tensor* passed() { return &passed_; }
  ModelValue Take() const { return is_tensor_ ? ModelValue(tensor_) : value_; }

 private:
  const bool is_tensor_;
  deputy_tensor passed_ = {};
  Tensor tensor_;
  ModelValue value_;
};

Result<ModelValue> TryRunValues(Maker make, const PrimitiveBuilder& builder, const std::vector<ValueInput>& inputs) {
  Graph graph;
  Node node;
  node.primitive = builder.Finish();
  std::vector<ValueType> types;
  std::vector<Tensor> tensors;
  std::vector<deputy_tensor> passed(inputs.size());
  std::vector<const deputy_tensor*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueInput& input = inputs[i];
    const bool left_out = input.kind == ValueKind::kTensor && input.value.empty();
    tensors.push_back(input.value.tensor());
    types.push_back({input.value.empty() ? input.dtype : input.value.dtype(), false, {}, input.kind});
    if (input.kind == ValueKind::kTensor) types.back().ranked = true, types.back().dims = tensors.back().shape();
    node.inputs.push_back(left_out ? kNone : graph.AddValue("", types.back()));
    passed[i] = AbiTensor(tensors.back());
    if (input.kind != ValueKind::kTensor) {
      passed[i] = {};
      passed[i].memory = kHeldMemory;
      passed[i].data = const_cast<ModelValue*>(&input.value);
    }
    pointers.push_back(left_out ? nullptr : &passed[i]);
  }
  node.outputs = {graph.AddValue("")};
  InferenceContext context(node, types, tensors, {}, InferenceTime::kRun);
  DEPUTY_RETURN_IF_ERROR(InferNode(context));
  graph.values[node.outputs[0]].type = context.outputs()[0];
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<CpuKernel> kernel, make(KernelSpec{node, graph}));
  OutputPlace place(context.outputs()[0]);
  if (!kernel->allocates_outputs()) DEPUTY_RETURN_IF_ERROR(place.Allocate(nullptr, context.outputs()[0].dims));
  deputy_tensor* outputs[] = {place.passed()};
  ThreadPool pool(1);
  Scratch scratch;
  DEPUTY_RETURN_IF_ERROR(kernel->Run(KernelArgs{pointers, outputs, pool, scratch, &place}));
  return place.Take();
}

ModelValue RunValues(Maker make, const PrimitiveBuilder& builder, const std::vector<ValueInput>& inputs) {
  Result<ModelValue> value = TryRunValues(make, builder, inputs);
  if (value.ok()) return std::move(value).value();
  ADD_FAILURE() << value.status().ToString();
  return {};
}

std::string RunError(Maker make, const PrimitiveBuilder& builder, const std::vector<ValueInput>& inputs) {
  const Result<ModelValue> value = TryRunValues(make, builder, inputs);
  return value.ok() ? std::string() : value.status().message();
}

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
  EXPECT_EQ(RunError(MakeSequenceAt, kAt, {In(Numbers()), Position(3)}),
            "position 3 is outside a sequence of 3 elements");
  EXPECT_EQ(RunError(MakeSequenceAt, kAt, {In(Numbers()), Position(-4)}),
            "position -4 is outside a sequence of 3 elements");
  EXPECT_EQ(RunError(MakeSequenceInsert, kInsert, {In(Numbers()), In(Row({9})), Position(4)}),
            "position 4 is outside a sequence of 3 elements");
  EXPECT_EQ(RunError(MakeSequenceErase, kErase, {In(Numbers()), Position(3)}),
            "position 3 is outside a sequence of 3 elements");
  EXPECT_EQ(RunError(MakeSequenceAt, kAt, {In(Numbers()), Position(INT64_MIN)}),
            "position -9223372036854775808 is outside a sequence of 3 elements");
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
  EXPECT_EQ(RunError(MakeSequenceErase, kErase, {In(SequenceOf({}))}), "cannot erase from an empty sequence");
}

TEST(SequenceKernels, TheLengthIsANumber) {
  const Tensor length = RunValues(MakeSequenceLength, kLength, {In(Numbers())}).tensor();
  EXPECT_EQ(length.shape(), Shape());
  EXPECT_EQ(ValuesOf<int64_t>(length), (std::vector<int64_t>{3}));
}

Tensor Matrix() { return TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }

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
  EXPECT_EQ(error(TensorOf<int64_t>({2}, {1, 2})), "the values of split [1,2] exceed the extent 2");
  EXPECT_EQ(error(TensorOf<int64_t>({2}, {1, -1})), "split has the negative value -1");
  EXPECT_EQ(error(TensorOf<int64_t>({1}, {1})), "the sum of split [1] is less than the extent 2");
  EXPECT_EQ(error(TensorOf<int64_t>({}, {0})), "split must be at least 1, got 0");
}

TEST(SequenceKernels, NothingFallsIntoMorePartsThanMemoryHolds) {
  const Tensor endless = *Tensor::Allocate(DType::kFloat32, {int64_t{1} << 40, 0});
  EXPECT_EQ(RunError(MakeSplitToSequence, kSplit, {In(endless)}),
            "a split into 1099511627776 parts exceeds the limit of 1048576");
  const int64_t many = (int64_t{1} << 20) + 1;
  const Tensor bytes = *Tensor::Allocate(DType::kUint8, {2 * many});
  EXPECT_EQ(RunError(MakeSplitToSequence, kSplit, {In(bytes)}),
            "a split into 2097154 parts exceeds the limit of 1048576");
  EXPECT_EQ(RunError(MakeSplitToSequence, kSplit, {In(bytes), Position(2)}),
            "a split into 1048577 parts exceeds the limit of 1048576");
  EXPECT_EQ(RunError(MakeSplitToSequence, kSplit,
                     {In(bytes), In(TensorOf<int64_t>({many}, std::vector<int64_t>(static_cast<size_t>(many), 2)))}),
            "a split into 1048577 parts exceeds the limit of 1048576");
}

TEST(SequenceKernels, ASplitEndsWithTheRun) {
  const std::atomic<uint64_t> cancelled{1};
  const CancellationToken stop{0, &cancelled};
  const CancellationScope scope(&stop);
  EXPECT_TRUE(RunValues(MakeSplitToSequence, kSplit, {In(Matrix())}).empty());
  EXPECT_TRUE(scope.stopped());
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
            "elements of shapes [1] and [2] cannot be concatenated along axis 0");
  EXPECT_EQ(RunError(MakeConcatFromSequence, join, {In(SequenceOf({Row({1}), Matrix()}))}),
            "elements of shapes [1] and [2,3] cannot be concatenated along axis 0");
  EXPECT_EQ(RunError(MakeConcatFromSequence, join, {In(SequenceOf({}))}), "cannot concatenate an empty sequence");
}

ValueInput Nothing(ValueKind kind) { return {ModelValue(), kind}; }

TEST(OptionalKernels, WithoutAnInputThereIsNothing) {
  const PrimitiveBuilder empty = PrimitiveBuilder(kOptional).Set("type", std::string("tensor(float)"));
  EXPECT_TRUE(RunValues(MakeOptional, empty, {}).empty());
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
            "the optional does not contain a sequence");
}

TEST(OptionalKernels, IdentityHandsOnSequencesWithoutACopy) {
  const ModelValue numbers = Numbers();
  const ModelValue same = RunValues(MakeIdentity, kIdentity, {In(numbers)});
  EXPECT_EQ(same.elements()[1].data(), numbers.elements()[1].data());
}

}  // namespace
}  // namespace deputy::host
