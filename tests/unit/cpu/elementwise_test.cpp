// The operators with one tensor in and one out, element by element, each as a node would run.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> RunFloats(Maker make, const PrimitiveBuilder& builder, std::vector<float> values) {
  const int64_t count = static_cast<int64_t>(values.size());
  return ValuesOf<float>(RunNode(make, builder, {TensorOf<float>({count}, values)})[0]);
}

TEST(LeakyRelu, AlphaHasItsDefault) {
  EXPECT_EQ(RunFloats(MakeLeakyRelu, PrimitiveBuilder("", "LeakyRelu", 16), {-2, 2}), (std::vector<float>{-0.02f, 2}));
}

TEST(HardSigmoid, AlphaAndBetaAreRead) {
  PrimitiveBuilder builder("", "HardSigmoid", 6);
  builder.Set("alpha", 0.5f).Set("beta", 0.25f);
  EXPECT_EQ(RunFloats(MakeHardSigmoid, builder, {-10, 0.5f, 10}), (std::vector<float>{0, 0.5f, 1}));
}

TEST(Selu, GammaScalesBothSides) {
  PrimitiveBuilder builder("", "Selu", 6);
  builder.Set("alpha", 1.0f).Set("gamma", 2.0f);
  const std::vector<float> got = RunFloats(MakeSelu, builder, {1, -1});
  EXPECT_FLOAT_EQ(got[0], 2);
  EXPECT_FLOAT_EQ(got[1], 2 * (std::exp(-1.0f) - 1));
}

TEST(ThresholdedRelu, ThresholdItselfIsZero) {
  EXPECT_EQ(RunFloats(MakeThresholdedRelu, PrimitiveBuilder("", "ThresholdedRelu", 10), {1, 1.5f}),
            (std::vector<float>{0, 1.5f}));
}

TEST(IsInf, FlagsAreRead) {
  PrimitiveBuilder builder("", "IsInf", 10);
  builder.Set("detect_negative", int64_t{0});
  const Tensor out = RunNode(MakeIsInf, builder, {TensorOf<float>({2}, {kInfinity, -kInfinity})})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{1, 0}));
}

TEST(Sqrt, OfAScalarIsAScalar) {
  const Tensor out = RunNode(MakeSqrt, PrimitiveBuilder("", "Sqrt", 13), {TensorOf<double>({}, {9})})[0];
  EXPECT_EQ(out.shape(), Shape{});
  EXPECT_EQ(ValuesOf<double>(out), std::vector<double>{3});
}

TEST(Sqrt, OfNothingIsNothing) {
  const Tensor out = RunNode(MakeSqrt, PrimitiveBuilder("", "Sqrt", 13), {TensorOf<float>({2, 0, 3}, {})})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 0, 3}));
}

TEST(Sqrt, OfIntegersIsRefusedWithTheReason) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeSqrt, PrimitiveBuilder("", "Sqrt", 13), {TensorOf<int32_t>({1}, {4})});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(out.status().message(), "Sqrt of int32");
}

TEST(Sqrt, OutputOfAnotherSizeIsNeverWritten) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "Sqrt", 13).Finish();
  node.inputs.push_back(graph.AddValue("", ValueType{DType::kFloat32, true, {2}}));
  node.outputs.push_back(graph.AddValue("", ValueType{DType::kFloat32, true, {2}}));
  const std::unique_ptr<CpuKernel> kernel = MakeSqrt({node, graph}).value();
  const Tensor input = TensorOf<float>({2}, {4, 9}), output = TensorOf<float>({1}, {-1});
  const deputy_tensor from = AbiTensor(input);
  deputy_tensor to = AbiTensor(output);
  const deputy_tensor* inputs[] = {&from};
  deputy_tensor* outputs[] = {&to};
  ThreadPool pool(1);
  Scratch scratch;
  const Status status = kernel->Run({inputs, outputs, pool, scratch, nullptr});
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(ValuesOf<float>(output), std::vector<float>{-1});
}

TEST(Cast, GoesToTheTypeAskedFor) {
  PrimitiveBuilder builder("", "Cast", 13);
  builder.Set("to", static_cast<int64_t>(DType::kInt8));
  const Tensor out = RunNode(MakeCast, builder, {TensorOf<float>({3}, {-1.7f, 1000, 3})})[0];
  EXPECT_EQ(out.dtype(), DType::kInt8);
  EXPECT_EQ(ValuesOf<int8_t>(out), (std::vector<int8_t>{-1, 127, 3}));
}

TEST(CastLike, GoesToTheTypeOfTheOtherInput) {
  const Tensor out = RunNode(MakeCastLike, PrimitiveBuilder("", "CastLike", 15),
                             {TensorOf<int32_t>({2}, {0, 7}), TensorOf<bool>({1}, {false})})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{0, 1}));
}

TEST(Clip, BoundsAreInputsThatMayBeLeftOut) {
  const PrimitiveBuilder builder("", "Clip", 13);
  const Tensor source = TensorOf<int32_t>({3}, {-5, 0, 5});
  EXPECT_EQ(ValuesOf<int32_t>(RunNode(MakeClip, builder, {source, Tensor(), TensorOf<int32_t>({}, {2})})[0]),
            (std::vector<int32_t>{-5, 0, 2}));
  EXPECT_EQ(ValuesOf<int32_t>(RunNode(MakeClip, builder, {source})[0]), (std::vector<int32_t>{-5, 0, 5}));
}

TEST(Clip, BoundsAreAttributesInOldDefinitions) {
  PrimitiveBuilder builder("", "Clip", 6);
  builder.Set("min", -1.0f);
  EXPECT_EQ(RunFloats(MakeClip, builder, {-5, 5}), (std::vector<float>{-1, 5}));
}

TEST(Clip, BoundWithManyElementsIsRefused) {
  EXPECT_FALSE(TryRunNode(MakeClip, PrimitiveBuilder("", "Clip", 13),
                          {TensorOf<float>({2}, {1, 2}), TensorOf<float>({2}, {1, 2})})
                   .ok());
}

TEST(Dropout, WithoutTrainingIsACopyAndAMaskOfTrue) {
  RunNodeOptions options;
  options.outputs = 2;
  const std::vector<Tensor> out =
      RunNode(MakeDropout, PrimitiveBuilder("", "Dropout", 13), {TensorOf<float>({2}, {1, 2})}, options);
  EXPECT_EQ(ValuesOf<float>(out[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[1]), (std::vector<uint8_t>{1, 1}));
}

TEST(Dropout, TrainingIsRefusedUnlessNothingIsDropped) {
  const PrimitiveBuilder builder("", "Dropout", 13);
  const Tensor data = TensorOf<float>({2}, {1, 2}), training = TensorOf<bool>({}, {true});
  EXPECT_EQ(TryRunNode(MakeDropout, builder, {data, TensorOf<float>({}, {0.5f}), training}).status().code(),
            StatusCode::kNotSupported);
  EXPECT_TRUE(TryRunNode(MakeDropout, builder, {data, TensorOf<float>({}, {0}), training}).ok());
}

TEST(Identity, CopiesAnyType) {
  const Tensor out =
      RunNode(MakeIdentity, PrimitiveBuilder("", "Identity", 16), {TensorOf<bool>({2}, {true, false})})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{1, 0}));
}

}  // namespace
}  // namespace deputy::host
