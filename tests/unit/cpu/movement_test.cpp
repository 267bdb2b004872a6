// The operators that move elements, each as a node would run.
#include <gtest/gtest.h>

#include <numeric>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

Tensor Iota(Shape shape) {
  Tensor tensor = Tensor::Allocate(DType::kFloat32, std::move(shape)).value();
  const std::span<float> values = tensor.mutable_values<float>();
  std::iota(values.begin(), values.end(), 0.0f);
  return tensor;
}

Tensor List(const Ints& values) { return TensorOf<int64_t>({static_cast<int64_t>(values.size())}, values); }

Tensor RunOne(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs) {
  return RunNode(make, builder, std::move(inputs))[0];
}

// What is said when the run fails, code and message.
std::string Failure(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs) {
  const Result<std::vector<Tensor>> outputs = TryRunNode(make, builder, std::move(inputs));
  return outputs.ok() ? std::string() : outputs.status().message();
}

TEST(Concat, JoinsAlongAnInnerAxis) {
  const Tensor out =
      RunOne(MakeConcat, PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{-1}), {Iota({2, 2}), Iota({2, 1})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{0, 1, 0, 2, 3, 1}));
}

TEST(Concat, EmptyPartsAddNothing) {
  const Tensor out = RunOne(MakeConcat, PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{1}),
                            {Iota({2, 0}), Iota({2, 2}), Iota({2, 0})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{0, 1, 2, 3}));
}

TEST(Concat, MovesBytesOfEveryWidth) {
  const auto bytes = RunOne(MakeConcat, PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0}),
                            {TensorOf<uint8_t>({2}, {1, 2}), TensorOf<uint8_t>({1}, {3})});
  EXPECT_EQ(ValuesOf<uint8_t>(bytes), (std::vector<uint8_t>{1, 2, 3}));
  const auto doubles = RunOne(MakeConcat, PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0}),
                              {TensorOf<double>({2}, {1, 2}), TensorOf<double>({1}, {3})});
  EXPECT_EQ(ValuesOf<double>(doubles), (std::vector<double>{1, 2, 3}));
}

TEST(Split, PartsOfGivenSizes) {
  const std::vector<Tensor> out = RunNode(MakeSplit, PrimitiveBuilder("", "Split", 13).Set("axis", int64_t{1}),
                                          {Iota({2, 3}), List({1, 2})}, {.outputs = 2, .constants = {}});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{0, 3}));
  EXPECT_EQ(ValuesOf<float>(out[1]), (Floats{1, 2, 4, 5}));
}

TEST(Split, MorePartsThanElementsLeavesTheLastEmpty) {
  const std::vector<Tensor> out = RunNode(MakeSplit, PrimitiveBuilder("", "Split", 18).Set("num_outputs", int64_t{4}),
                                          {Iota({5})}, {.outputs = 4, .constants = {}});
  EXPECT_EQ(ValuesOf<float>(out[2]), (Floats{4}));
  EXPECT_EQ(out[3].shape(), (Shape{0}));
}

TEST(Slice, NegativeStepReverses) {
  const Tensor out = RunOne(MakeSlice, PrimitiveBuilder("", "Slice", 13),
                            {Iota({2, 4}), List({-1}), List({INT64_MIN}), List({1}), List({-2})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{3, 1, 7, 5}));
}

TEST(Slice, StepTooLargeToMultiplyTakesOneElement) {
  const Tensor out = RunOne(MakeSlice, PrimitiveBuilder("", "Slice", 13),
                            {Iota({4, 2}), List({1}), List({4}), List({0}), List({INT64_MAX})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{2, 3}));
}

TEST(Slice, NothingIsLeftOfAnEmptyRange) {
  const Tensor out = RunOne(MakeSlice, PrimitiveBuilder("", "Slice", 13), {Iota({4, 2}), List({3}), List({1})});
  EXPECT_EQ(out.shape(), (Shape{0, 2}));
}

TEST(Slice, Int32PositionsAreTaken) {
  const Tensor out = RunOne(MakeSlice, PrimitiveBuilder("", "Slice", 13),
                            {Iota({5}), TensorOf<int32_t>({1}, {1}), TensorOf<int32_t>({1}, {3})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{1, 2}));
}

TEST(Slice, AxisNamedTwiceIsRefused) {
  EXPECT_NE(
      Failure(MakeSlice, PrimitiveBuilder("", "Slice", 13), {Iota({5}), List({0, 1}), List({3, 2}), List({0, -1})}),
      "");
}

TEST(Expand, RepeatsInnerAndOuterDimensions) {
  const Tensor out = RunOne(MakeExpand, PrimitiveBuilder("", "Expand", 13), {Iota({2, 1}), List({2, 1, 3})});
  EXPECT_EQ(out.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(ValuesOf<float>(out), (Floats{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}

TEST(Expand, ScalarFillsTheShape) {
  EXPECT_EQ(
      ValuesOf<float>(RunOne(MakeExpand, PrimitiveBuilder("", "Expand", 13), {TensorOf<float>({}, {7}), List({2, 2})})),
      (Floats{7, 7, 7, 7}));
}

TEST(Tile, RepeatsEachDimension) {
  const Tensor out = RunOne(MakeTile, PrimitiveBuilder("", "Tile", 13), {Iota({2, 2}), List({2, 2})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(Tile, ShortRowsRepeatManyTimesInEachPlane) {
  const Tensor out = RunOne(MakeTile, PrimitiveBuilder("", "Tile", 13), {Iota({2, 1, 3}), List({2, 2, 5})});
  Floats wanted;
  for (int plane = 0; plane < 4; ++plane)
    for (int row = 0; row < 2; ++row)
      for (int i = 0; i < 15; ++i) wanted.push_back(static_cast<float>(plane % 2 * 3 + i % 3));
  EXPECT_EQ(ValuesOf<float>(out), wanted);
}

TEST(Tile, LongRowsRepeat) {
  const Tensor out = RunOne(MakeTile, PrimitiveBuilder("", "Tile", 13), {Iota({2, 40}), List({1, 3})});
  Floats wanted;
  for (int i = 0; i < 240; ++i) wanted.push_back(static_cast<float>(i / 120 * 40 + i % 40));
  EXPECT_EQ(ValuesOf<float>(out), wanted);
}

TEST(Tile, ZeroRepeatsMakeNothing) {
  EXPECT_EQ(RunOne(MakeTile, PrimitiveBuilder("", "Tile", 13), {Iota({2, 2}), List({0, 2})}).shape(), (Shape{0, 4}));
}

TEST(Transpose, PermutesARankNineTensor) {
  const Tensor out =
      RunOne(MakeTranspose, PrimitiveBuilder("", "Transpose", 13).Set("perm", Ints{8, 1, 2, 3, 4, 5, 6, 7, 0}),
             {Iota({2, 1, 1, 1, 1, 1, 1, 1, 3})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(DepthToSpace, ModesTakeDepthInTheirOwnOrder) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "DepthToSpace", 13).Set("blocksize", int64_t{2});
  PrimitiveBuilder other = builder;
  other.Set("mode", std::string("CRD"));
  EXPECT_EQ(ValuesOf<float>(RunOne(MakeDepthToSpace, builder, {Iota({1, 8, 1, 1})})), (Floats{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(ValuesOf<float>(RunOne(MakeDepthToSpace, other, {Iota({1, 8, 1, 1})})), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(SpaceToDepth, UndoesDepthToSpace) {
  const Tensor input = Iota({2, 8, 3, 5});
  const Tensor wide =
      RunOne(MakeDepthToSpace, PrimitiveBuilder("", "DepthToSpace", 13).Set("blocksize", int64_t{2}), {input});
  const Tensor back =
      RunOne(MakeSpaceToDepth, PrimitiveBuilder("", "SpaceToDepth", 13).Set("blocksize", int64_t{2}), {wide});
  EXPECT_EQ(ValuesOf<float>(back), ValuesOf<float>(input));
}

TEST(Trilu, UpperKeepsFromTheDiagonalOn) {
  const Tensor out = RunOne(MakeTrilu, PrimitiveBuilder("", "Trilu", 14), {Iota({2, 3}), TensorOf<int64_t>({}, {1})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{0, 1, 2, 0, 0, 5}));
}

TEST(Trilu, LowerKeepsUpToTheDiagonal) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Trilu", 14).Set("upper", int64_t{0});
  EXPECT_EQ(ValuesOf<float>(RunOne(MakeTrilu, builder, {Iota({2, 3})})), (Floats{0, 0, 0, 3, 4, 0}));
  EXPECT_EQ(ValuesOf<float>(RunOne(MakeTrilu, builder, {Iota({2, 3}), TensorOf<int64_t>({}, {INT64_MIN})})),
            Floats(6, 0));
}

TEST(Pad, ConstantWithACropOnTheOtherSide) {
  const Tensor out =
      RunOne(MakePad, PrimitiveBuilder("", "Pad", 13), {Iota({2, 3}), List({0, 1, 0, -1}), TensorOf<float>({}, {9})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{9, 0, 1, 9, 3, 4}));
}

TEST(Pad, ConstantDefaultsToZero) {
  const Tensor out = RunOne(MakePad, PrimitiveBuilder("", "Pad", 13), {TensorOf<uint8_t>({1}, {5}), List({1, 2})});
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{0, 5, 0, 0}));
}

TEST(Pad, NothingCanBePaddedWithAConstant) {
  const Tensor out =
      RunOne(MakePad, PrimitiveBuilder("", "Pad", 13), {Iota({0, 2}), List({1, 0, 0, 0}), TensorOf<float>({}, {4})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{4, 4}));
}

TEST(Pad, NothingCannotBeReflected) {
  EXPECT_EQ(Failure(MakePad, PrimitiveBuilder("", "Pad", 13).Set("mode", std::string("reflect")),
                    {Iota({0, 2}), List({1, 0, 0, 0})}),
            "axis 0 of [0,2] has nothing to pad from");
}

TEST(Pad, ReflectsInTwoDimensions) {
  const Tensor out = RunOne(MakePad, PrimitiveBuilder("", "Pad", 13).Set("mode", std::string("reflect")),
                            {Iota({2, 3}), List({1, 1, 0, 0})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{4, 3, 4, 5, 1, 0, 1, 2, 4, 3, 4, 5}));
}

TEST(Pad, WrapsAlongNamedAxes) {
  const Tensor out = RunOne(MakePad, PrimitiveBuilder("", "Pad", 19).Set("mode", std::string("wrap")),
                            {Iota({2, 3}), List({2, 1}), Tensor(), List({-1})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{1, 2, 0, 1, 2, 0, 4, 5, 3, 4, 5, 3}));
}

TEST(Gather, NegativeIndicesCountFromTheEnd) {
  const Tensor out = RunOne(MakeGather, PrimitiveBuilder("", "Gather", 13).Set("axis", int64_t{1}),
                            {Iota({2, 3}), TensorOf<int32_t>({2}, {-1, 0})});
  EXPECT_EQ(ValuesOf<float>(out), (Floats{2, 0, 5, 3}));
}

TEST(Gather, IndexOutOfRangeIsRefused) {
  EXPECT_EQ(Failure(MakeGather, PrimitiveBuilder("", "Gather", 13), {Iota({5}), List({7})}),
            "index 7 is outside [-5, 4] along axis 0");
}

TEST(GatherElements, IndexOutOfRangeIsRefused) {
  EXPECT_EQ(Failure(MakeGatherElements, PrimitiveBuilder("", "GatherElements", 13).Set("axis", int64_t{1}),
                    {Iota({1, 2}), TensorOf<int64_t>({1, 1}, {-3})}),
            "index -3 is outside [-2, 1] along axis 1");
}

TEST(GatherND, TuplesNameSlices) {
  const Tensor out = RunOne(MakeGatherND, PrimitiveBuilder("", "GatherND", 13),
                            {Iota({2, 2, 2}), TensorOf<int64_t>({2, 1, 2}, {0, 1, -1, 0})});
  EXPECT_EQ(out.shape(), (Shape{2, 1, 2}));
  EXPECT_EQ(ValuesOf<float>(out), (Floats{2, 3, 4, 5}));
}

TEST(Movement, StringsAreNotSupported) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "Transpose", 13).Finish();
  node.inputs = {graph.AddValue("x", {DType::kString, true, {2}})};
  node.outputs = {graph.AddValue("y", {DType::kString, true, {2}})};
  EXPECT_EQ(MakeTranspose({node, graph}).status().code(), StatusCode::kNotSupported);
}

TEST(Movement, OutputOfTheWrongSizeIsNeverWritten) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0}).Finish();
  node.inputs = {graph.AddValue("x", {DType::kFloat32, false, {}})};
  node.outputs = {graph.AddValue("y", {DType::kFloat32, false, {}})};
  const std::unique_ptr<CpuKernel> kernel = MakeConcat({node, graph}).value();
  const Tensor input = Iota({4});
  const Tensor output = TensorOf<float>({3}, {-1, -1, -1});
  const deputy_tensor from = AbiTensor(input);
  deputy_tensor to = AbiTensor(output);
  const deputy_tensor* inputs[] = {&from};
  deputy_tensor* outputs[] = {&to};
  ThreadPool pool(1);
  Scratch scratch;
  EXPECT_FALSE(kernel->Run({inputs, outputs, pool, scratch, nullptr}).ok());
  EXPECT_EQ(ValuesOf<float>(output), (Floats{-1, -1, -1}));
}

}  // namespace
}  // namespace deputy::host
