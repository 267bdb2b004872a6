#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

PrimitiveBuilder Conv() { return PrimitiveBuilder("", "Conv", 11); }
PrimitiveBuilder ConvTranspose() { return PrimitiveBuilder("", "ConvTranspose", 11); }

Floats Values(const std::vector<Tensor>& outputs) { return ValuesOf<float>(outputs[0]); }

TEST(ConvOnCpu, SumsTheWindowAndAddsTheBias) {
  const auto y = RunNode(MakeConv, Conv(),
                         {TensorOf<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                          TensorOf<float>({1, 1, 2, 2}, {1, 0, 0, 1}), TensorOf<float>({1}, {100})});
  EXPECT_EQ(y[0].shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(Values(y), (Floats{106, 108, 112, 114}));
}

TEST(ConvOnCpu, SameUpperPadsTheEnd) {
  EXPECT_EQ(Values(RunNode(MakeConv, Conv().Set("auto_pad", "SAME_UPPER"),
                           {TensorOf<float>({1, 1, 3}, {1, 2, 3}), TensorOf<float>({1, 1, 2}, {1, 10})})),
            (Floats{21, 32, 3}));
}

TEST(ConvOnCpu, SameLowerPadsTheStart) {
  EXPECT_EQ(Values(RunNode(MakeConv, Conv().Set("auto_pad", "SAME_LOWER"),
                           {TensorOf<float>({1, 1, 3}, {1, 2, 3}), TensorOf<float>({1, 1, 2}, {1, 10})})),
            (Floats{10, 21, 32}));
}

TEST(ConvOnCpu, ShapesMayBeKnownToTheRunOnly) {
  EXPECT_EQ(
      Values(RunNode(MakeConv, Conv(), {TensorOf<float>({1, 1, 3}, {1, 2, 3}), TensorOf<float>({1, 1, 2}, {1, 10})},
                     {.hide_shapes = true})),
      (Floats{21, 32}));
}

TEST(ConvOnCpu, Float16IsComputedInFloat32AndRoundedOnce) {
  // 2048 + 1 is lost in float16; 2048 + 1 + 1 is not.
  const std::vector<Half> x = {ToHalf(2048.0f), ToHalf(1.0f), ToHalf(1.0f)},
                          w = {ToHalf(1.0f), ToHalf(1.0f), ToHalf(1.0f)};
  for (const bool constant : {false, true}) {
    const auto y = RunNode(MakeConv, Conv(), {TensorOf<Half>({1, 1, 3}, x), TensorOf<Half>({1, 1, 3}, w)},
                           {.constants = constant ? std::vector<size_t>{1} : std::vector<size_t>{}});
    ASSERT_EQ(y[0].dtype(), DType::kFloat16);
    EXPECT_EQ(ToFloat(y[0].values<Half>()[0]), 2050.0f);
  }
}

TEST(ConvOnCpu, Float64KeepsItsDigits) {
  const auto y =
      RunNode(MakeConv, Conv(), {TensorOf<double>({1, 1, 2}, {1.0, 1e-12}), TensorOf<double>({1, 1, 2}, {1.0, 1.0})});
  EXPECT_EQ(y[0].values<double>()[0], 1.0 + 1e-12);
}

TEST(ConvOnCpu, EmptyBatchGivesAnEmptyOutput) {
  const auto y =
      RunNode(MakeConv, Conv(),
              {Tensor::Allocate(DType::kFloat32, {0, 1, 3}).value(), TensorOf<float>({2, 1, 2}, {1, 1, 1, 1})});
  EXPECT_EQ(y[0].shape(), (Shape{0, 2, 2}));
}

TEST(ConvOnCpu, IntegersAreNotSupported) {
  EXPECT_EQ(TryRunNode(MakeConv, Conv(), {TensorOf<int32_t>({1, 1, 3}, {1, 2, 3}), TensorOf<int32_t>({1, 1, 1}, {1})})
                .status()
                .code(),
            StatusCode::kNotSupported);
}

// Runs a kernel on tensors whose extents inference has not seen, as when a model's declared shapes were wrong.
Status RunUnchecked(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs, Tensor output) {
  Graph graph;
  Node& node = graph.nodes.emplace_back();
  node.primitive = builder.Finish();
  for (const Tensor& input : inputs) node.inputs.push_back(graph.AddValue("", {input.dtype(), false, {}}));
  node.outputs.push_back(graph.AddValue("", {output.dtype(), false, {}}));
  const KernelResult kernel = make(KernelSpec{node, graph});
  if (!kernel.ok()) return kernel.status();
  std::vector<deputy_tensor> views;
  for (const Tensor& input : inputs) views.push_back(AbiTensor(input));
  std::vector<const deputy_tensor*> pointers;
  for (const deputy_tensor& view : views) pointers.push_back(&view);
  deputy_tensor output_view = AbiTensor(output);
  deputy_tensor* const output_pointers[] = {&output_view};
  ThreadPool pool(1);
  Scratch scratch;
  return (*kernel)->Run(KernelArgs{pointers, output_pointers, pool, scratch, nullptr});
}

Tensor Zeros(Shape shape, DType dtype = DType::kFloat32) { return Tensor::Allocate(dtype, std::move(shape)).value(); }

TEST(ConvOnCpu, ChannelsThatDoNotFitAreRefusedByTheRun) {
  const Status status = RunUnchecked(MakeConv, Conv(), {Zeros({1, 3, 8}), Zeros({2, 4, 3})}, Zeros({1, 2, 6}));
  EXPECT_EQ(status.message(), "weights of shape [2,4,3] do not fit 3 channels in 1 groups");
}

TEST(ConvOnCpu, OutputOfAnotherShapeIsRefusedByTheRun) {
  EXPECT_EQ(RunUnchecked(MakeConv, Conv(), {Zeros({1, 3, 8}), Zeros({2, 3, 3})}, Zeros({1, 2, 5})).code(),
            StatusCode::kInvalidArgument);
}

TEST(ConvOnCpu, BiasOfAnotherLengthIsRefusedByTheRun) {
  EXPECT_EQ(RunUnchecked(MakeConv, Conv(), {Zeros({1, 3, 8}), Zeros({2, 3, 3}), Zeros({3})}, Zeros({1, 2, 6})).code(),
            StatusCode::kInvalidArgument);
}

TEST(ConvOnCpu, WeightsOfAnotherTypeAreRefusedByTheRun) {
  EXPECT_EQ(
      RunUnchecked(MakeConv, Conv(), {Zeros({1, 3, 8}), Zeros({2, 3, 3}, DType::kFloat64)}, Zeros({1, 2, 6})).code(),
      StatusCode::kInvalidArgument);
}

TEST(ConvOnCpu, WindowLargerThanTheInputIsRefusedByTheRun) {
  EXPECT_FALSE(RunUnchecked(MakeConv, Conv(), {Zeros({1, 3, 2}), Zeros({2, 3, 3})}, Zeros({1, 2, 0})).ok());
}

TEST(ConvTransposeOnCpu, SpreadsEachElement) {
  const auto y = RunNode(MakeConvTranspose, ConvTranspose().Set("strides", Ints{2}),
                         {TensorOf<float>({1, 1, 2}, {1, 10}), TensorOf<float>({1, 1, 3}, {1, 2, 3})});
  EXPECT_EQ(Values(y), (Floats{1, 2, 13, 20, 30}));
}

TEST(ConvTransposeOnCpu, OutputPaddingAddsElementsThatOnlySeeTheBias) {
  const auto y =
      RunNode(MakeConvTranspose, ConvTranspose().Set("strides", Ints{3}).Set("output_padding", Ints{2}),
              {TensorOf<float>({1, 1, 2}, {1, 10}), TensorOf<float>({1, 1, 1}, {1}), TensorOf<float>({1}, {7})});
  EXPECT_EQ(Values(y), (Floats{8, 7, 7, 17, 7, 7}));
}

TEST(ConvTransposeOnCpu, OutputShapeCutsTheStartFirst) {
  const auto y = RunNode(MakeConvTranspose, ConvTranspose().Set("output_shape", Ints{3}),
                         {TensorOf<float>({1, 1, 2}, {1, 10}), TensorOf<float>({1, 1, 3}, {1, 2, 3})});
  EXPECT_EQ(Values(y), (Floats{12, 23, 30}));
}

TEST(ConvTransposeOnCpu, GroupsStayApart) {
  const auto y = RunNode(MakeConvTranspose, ConvTranspose().Set("group", int64_t{2}),
                         {TensorOf<float>({1, 2, 1}, {2, 3}), TensorOf<float>({2, 2, 1}, {1, 10, 100, 1000})});
  EXPECT_EQ(Values(y), (Floats{2, 20, 300, 3000}));
}

TEST(ConvTransposeOnCpu, ChannelsThatDoNotFitAreRefusedByTheRun) {
  EXPECT_EQ(
      RunUnchecked(MakeConvTranspose, ConvTranspose(), {Zeros({1, 3, 8}), Zeros({2, 4, 1})}, Zeros({1, 4, 8})).code(),
      StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deputy::host
