// The operators that look at shapes, change nothing but them, or make tensors from them, each as a node would run.
#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Ints = std::vector<int64_t>;

Tensor List(const Ints& values) { return TensorOf<int64_t>({static_cast<int64_t>(values.size())}, values); }

Tensor RunOne(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs) {
  return RunNode(make, builder, std::move(inputs))[0];
}

TEST(Reshape, KeepsTheElements) {
  const Tensor out = RunOne(MakeReshape, PrimitiveBuilder("", "Reshape", 14),
                            {TensorOf<int16_t>({2, 3}, {1, 2, 3, 4, 5, 6}), List({-1, 2})});
  EXPECT_EQ(out.shape(), (Shape{3, 2}));
  EXPECT_EQ(ValuesOf<int16_t>(out), (std::vector<int16_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Reshape, NoElementsStayNone) {
  const Tensor out =
      RunOne(MakeReshape, PrimitiveBuilder("", "Reshape", 14), {TensorOf<float>({0, 3}, {}), List({-1, 4})});
  EXPECT_EQ(out.shape(), (Shape{0, 4}));
}

TEST(Reshape, OutputOfAnotherSizeIsNeverWritten) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "Reshape", 14).Finish();
  const std::unique_ptr<CpuKernel> kernel = MakeReshape({node, graph}).value();
  const Tensor input = TensorOf<float>({2}, {1, 2}), shape = List({1}), output = TensorOf<float>({1}, {-1});
  const deputy_tensor from = AbiTensor(input), dims = AbiTensor(shape);
  deputy_tensor to = AbiTensor(output);
  const deputy_tensor* inputs[] = {&from, &dims};
  deputy_tensor* outputs[] = {&to};
  ThreadPool pool(1);
  Scratch scratch;
  EXPECT_EQ(kernel->Run({inputs, outputs, pool, scratch, nullptr}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ValuesOf<float>(output), (std::vector<float>{-1}));
}

TEST(Flatten, ScalarBecomesAMatrix) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Flatten", 13).Set("axis", int64_t{0});
  EXPECT_EQ(RunOne(MakeFlatten, builder, {TensorOf<float>({}, {3})}).shape(), (Shape{1, 1}));
}

TEST(Squeeze, AllOnesGoWithoutAxes) {
  EXPECT_EQ(RunOne(MakeSqueeze, PrimitiveBuilder("", "Squeeze", 13), {TensorOf<float>({1, 2, 1}, {3, 4})}).shape(),
            (Shape{2}));
}

TEST(Unsqueeze, UnsortedAxes) {
  EXPECT_EQ(RunOne(MakeUnsqueeze, PrimitiveBuilder("", "Unsqueeze", 13), {TensorOf<float>({2}, {3, 4}), List({2, 0})})
                .shape(),
            (Shape{1, 2, 1}));
}

TEST(Shape, StartAndEndSelect) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Shape", 15).Set("start", int64_t{1}).Set("end", int64_t{-1});
  EXPECT_EQ(ValuesOf<int64_t>(RunOne(MakeShape, builder, {Tensor::Allocate(DType::kFloat32, {2, 3, 4, 5}).value()})),
            (Ints{3, 4}));
}

TEST(Size, OfATensorWithoutElementsIsZero) {
  EXPECT_EQ(ValuesOf<int64_t>(RunOne(MakeSize, PrimitiveBuilder("", "Size", 13), {TensorOf<float>({3, 0}, {})})),
            (Ints{0}));
}

TEST(ConstantOfShape, FillsWithTheValue) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "ConstantOfShape", 9).Set("value", TensorOf<int16_t>({1}, {-7}));
  EXPECT_EQ(ValuesOf<int16_t>(RunOne(MakeConstantOfShape, builder, {List({2, 2})})), std::vector<int16_t>(4, -7));
}

TEST(ConstantOfShape, FillsWithFloatZerosByDefault) {
  EXPECT_EQ(ValuesOf<float>(RunOne(MakeConstantOfShape, PrimitiveBuilder("", "ConstantOfShape", 9), {List({})})),
            (std::vector<float>{0}));
}

TEST(EyeLike, DiagonalMayLieAboveOrBelow) {
  const Tensor like = TensorOf<int32_t>({2, 3}, {9, 9, 9, 9, 9, 9});
  EXPECT_EQ(ValuesOf<int32_t>(RunOne(MakeEyeLike, PrimitiveBuilder("", "EyeLike", 9).Set("k", int64_t{1}), {like})),
            (std::vector<int32_t>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(ValuesOf<int32_t>(RunOne(MakeEyeLike, PrimitiveBuilder("", "EyeLike", 9).Set("k", int64_t{-1}), {like})),
            (std::vector<int32_t>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(ValuesOf<int32_t>(RunOne(MakeEyeLike, PrimitiveBuilder("", "EyeLike", 9).Set("k", INT64_MAX), {like})),
            std::vector<int32_t>(6, 0));
}

TEST(EyeLike, OneOfSixteenBitFloats) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "EyeLike", 9).Set("dtype", int64_t{10});
  EXPECT_EQ(ValuesOf<uint16_t>(RunOne(MakeEyeLike, builder, {TensorOf<float>({1, 1}, {0})})),
            (std::vector<uint16_t>{0x3c00}));
}

TEST(Range, CountsDown) {
  EXPECT_EQ(
      ValuesOf<int32_t>(RunOne(MakeRange, PrimitiveBuilder("", "Range", 11),
                               {TensorOf<int32_t>({}, {10}), TensorOf<int32_t>({}, {4}), TensorOf<int32_t>({}, {-2})})),
      (std::vector<int32_t>{10, 8, 6}));
}

TEST(Range, ReachesOverAllOfInt64) {
  const Tensor out = RunOne(
      MakeRange, PrimitiveBuilder("", "Range", 11),
      {TensorOf<int64_t>({}, {INT64_MIN}), TensorOf<int64_t>({}, {INT64_MAX}), TensorOf<int64_t>({}, {INT64_MAX})});
  EXPECT_EQ(ValuesOf<int64_t>(out), (Ints{INT64_MIN, -1, INT64_MAX - 1}));
}

TEST(Region, IfAndConstantSayWhyTheyAreNoKernels) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "If", 13).Finish();
  EXPECT_EQ(MakeIf({node, graph}).status().message(), "the branches of an If are run by the executor, not by a kernel");
  EXPECT_EQ(MakeConstant({node, graph}).status().message(), "a Constant is a value of the graph, not a node that runs");
}

}  // namespace
}  // namespace deputy::host
