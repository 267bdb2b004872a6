// The operators whose inputs broadcast against each other, each as a node would run.
#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

TEST(Add, BroadcastsBothWays) {
  const Tensor out = RunNode(MakeAdd, PrimitiveBuilder("", "Add", 14),
                             {TensorOf<float>({2, 1}, {10, 20}), TensorOf<float>({3}, {1, 2, 3})})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{11, 12, 13, 21, 22, 23}));
}

TEST(Add, OfNothingIsNothing) {
  const Tensor out =
      RunNode(MakeAdd, PrimitiveBuilder("", "Add", 14), {TensorOf<float>({2, 0}, {}), TensorOf<float>({1}, {1})})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 0}));
}

TEST(Add, WorksAtRankTen) {
  const Shape shape = {1, 2, 1, 1, 2, 1, 1, 1, 1, 2}, other = {2, 1, 1, 1, 1, 1};
  const Tensor out =
      RunNode(MakeAdd, PrimitiveBuilder("", "Add", 14),
              {TensorOf<int32_t>(shape, {1, 2, 3, 4, 5, 6, 7, 8}), TensorOf<int32_t>(other, {10, 20})})[0];
  EXPECT_EQ(ValuesOf<int32_t>(out), (std::vector<int32_t>{11, 12, 23, 24, 15, 16, 27, 28}));
}

TEST(Add, WorksWhereExtentsAreKnownOnlyAtTheRun) {
  RunNodeOptions options;
  options.hide_shapes = true;
  const Tensor out = RunNode(MakeAdd, PrimitiveBuilder("", "Add", 14),
                             {TensorOf<float>({2}, {1, 2}), TensorOf<float>({}, {3})}, options)[0];
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{4, 5}));
}

TEST(Add, OfBoolIsRefusedWithTheReason) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeAdd, PrimitiveBuilder("", "Add", 14), {TensorOf<bool>({1}, {true}), TensorOf<bool>({1}, {true})});
  EXPECT_EQ(out.status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(out.status().message(), "Add of bool");
}

TEST(Add, OutputThatTheInputsDoNotReachIsNeverWritten) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "Add", 14).Finish();
  for (int i = 0; i < 2; ++i) node.inputs.push_back(graph.AddValue("", ValueType{DType::kFloat32, true, {2}}));
  node.outputs.push_back(graph.AddValue("", ValueType{DType::kFloat32, true, {2}}));
  const std::unique_ptr<CpuKernel> kernel = MakeAdd({node, graph}).value();
  const Tensor input = TensorOf<float>({2}, {4, 9}), output = TensorOf<float>({3}, {-1, -1, -1});
  const deputy_tensor from = AbiTensor(input);
  deputy_tensor to = AbiTensor(output);
  const deputy_tensor* inputs[] = {&from, &from};
  deputy_tensor* outputs[] = {&to};
  ThreadPool pool(1);
  Scratch scratch;
  EXPECT_FALSE(kernel->Run({inputs, outputs, pool, scratch, nullptr}).ok());
  EXPECT_EQ(ValuesOf<float>(output), (std::vector<float>{-1, -1, -1}));
}

TEST(Xor, ReadsAnyByteButZeroAsTrue) {
  const Tensor odd = TensorOf<uint8_t>({3}, {0, 2, 2}, DType::kBool),
               other = TensorOf<uint8_t>({3}, {1, 1, 0}, DType::kBool);
  const Tensor out = RunNode(MakeXor, PrimitiveBuilder("", "Xor", 7), {odd, other})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{1, 0, 1}));
}

TEST(Equal, OfBoolComparesTruth) {
  const Tensor out =
      RunNode(MakeEqual, PrimitiveBuilder("", "Equal", 13),
              {TensorOf<uint8_t>({2}, {2, 0}, DType::kBool), TensorOf<uint8_t>({}, {1}, DType::kBool)})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{1, 0}));
}

TEST(Mod, OfFloatsNeedsFmod) {
  const std::vector<Tensor> inputs = {TensorOf<float>({1}, {-7}), TensorOf<float>({1}, {3})};
  PrimitiveBuilder builder("", "Mod", 13);
  EXPECT_EQ(TryRunNode(MakeMod, builder, inputs).status().code(), StatusCode::kNotSupported);
  builder.Set("fmod", int64_t{1});
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeMod, builder, inputs)[0]), std::vector<float>{-1});
}

TEST(Max, JoinsInputsThatNeedEachOther) {
  const Tensor out =
      RunNode(MakeMax, PrimitiveBuilder("", "Max", 13),
              {TensorOf<int16_t>({2, 1}, {1, 5}), TensorOf<int16_t>({1, 2}, {3, 0}), TensorOf<int16_t>({}, {2})})[0];
  EXPECT_EQ(ValuesOf<int16_t>(out), (std::vector<int16_t>{3, 2, 5, 5}));
}

TEST(Mean, DividesByTheNumberOfInputs) {
  const PrimitiveBuilder builder("", "Mean", 13);
  const Tensor one = TensorOf<float>({2}, {1, 2}), two = TensorOf<float>({}, {4}), three = TensorOf<float>({1}, {7});
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeMean, builder, {one, two, three})[0]),
            (std::vector<float>{4, static_cast<float>(13.0 / 3)}));
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeMean, builder, {one})[0]), (std::vector<float>{1, 2}));
}

TEST(Mean, OfFloat16IsFloat16) {
  const Tensor out = RunNode(MakeMean, PrimitiveBuilder("", "Mean", 13),
                             {TensorOf<Half>({1}, {ToHalf(1.0f)}), TensorOf<Half>({1}, {ToHalf(2.0f)})})[0];
  EXPECT_EQ(ValuesOf<uint16_t>(out), std::vector<uint16_t>{ToHalf(1.5f).bits});
}

TEST(Pow, TakesAnExponentOfAnotherType) {
  const Tensor out =
      RunNode(MakePow, PrimitiveBuilder("", "Pow", 15), {TensorOf<float>({2}, {2, 3}), TensorOf<int64_t>({}, {2})})[0];
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{4, 9}));
}

TEST(PRelu, SlopeIsPerChannel) {
  const Tensor out = RunNode(MakePRelu, PrimitiveBuilder("", "PRelu", 16),
                             {TensorOf<float>({1, 2, 2}, {-1, 1, -1, 1}), TensorOf<float>({2, 1}, {0.5f, 0.25f})})[0];
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{-0.5f, 1, -0.25f, 1}));
}

TEST(Where, AllThreeInputsBroadcast) {
  const Tensor out =
      RunNode(MakeWhere, PrimitiveBuilder("", "Where", 16),
              {TensorOf<bool>({2, 1}, {true, false}), TensorOf<int64_t>({2}, {1, 2}), TensorOf<int64_t>({}, {9})})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{1, 2, 9, 9}));
}

TEST(Sum, OfFloat16DoesNotOverflowOnTheWay) {
  const auto half = [](uint16_t bits) { return TensorOf<uint16_t>({1}, {bits}, DType::kFloat16); };
  const std::vector<Tensor> terms = {half(0x7bff), half(0x7bff), half(0xfbff)};  // the largest number
  EXPECT_EQ(ValuesOf<uint16_t>(RunNode(MakeSum, PrimitiveBuilder("", "Sum", 13), terms)[0]),
            (std::vector<uint16_t>{0x7bff}));
}

}  // namespace
}  // namespace deputy::host
