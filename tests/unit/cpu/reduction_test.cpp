// The operators that work along axes, each as a node would run.
#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

const Tensor kSix = TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(ReduceSum, AxesAreReadAtTheRun) {
  const PrimitiveBuilder builder("", "ReduceSum", 13);
  const Tensor out = RunNode(MakeReduceSum, builder, {kSix, TensorOf<int64_t>({1}, {-1})})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 1}));
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{6, 15}));
}

TEST(ReduceSum, WithoutAxesReducesAll) {
  PrimitiveBuilder builder("", "ReduceSum", 13);
  builder.Set("keepdims", int64_t{0});
  const Tensor out = RunNode(MakeReduceSum, builder, {kSix})[0];
  EXPECT_EQ(out.shape(), Shape{});
  EXPECT_EQ(ValuesOf<float>(out), std::vector<float>{21});
}

TEST(ReduceSum, OfAScalarIsTheScalar) {
  EXPECT_EQ(
      ValuesOf<int64_t>(RunNode(MakeReduceSum, PrimitiveBuilder("", "ReduceSum", 13), {TensorOf<int64_t>({}, {7})})[0]),
      std::vector<int64_t>{7});
}

TEST(ReduceSumSquare, OverNoAxesStillSquares) {
  PrimitiveBuilder builder("", "ReduceSumSquare", 18);
  builder.Set("noop_with_empty_axes", int64_t{1});
  const Tensor out = RunNode(MakeReduceSumSquare, builder, {kSix})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{1, 4, 9, 16, 25, 36}));
}

TEST(ReduceMean, AxesAreAttributesInOldDefinitions) {
  PrimitiveBuilder builder("", "ReduceMean", 11);
  builder.Set("axes", std::vector<int64_t>{0}).Set("keepdims", int64_t{0});
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeReduceMean, builder, {kSix})[0]), (std::vector<float>{2.5f, 3.5f, 4.5f}));
}

TEST(ReduceMean, OfFloat16IsRoundedOnce) {
  // The sum is beyond the largest half; the mean is not.
  const std::vector<Half> large(4, ToHalf(60000.0f));
  const Tensor out = RunNode(MakeReduceMean, PrimitiveBuilder("", "ReduceMean", 18), {TensorOf<Half>({4}, large)})[0];
  EXPECT_EQ(ValuesOf<uint16_t>(out), std::vector<uint16_t>{ToHalf(60000.0f).bits});
}

TEST(ReduceMax, OfBoolTellsWhetherAnyIsTrue) {
  PrimitiveBuilder builder("", "ReduceMax", 20);
  builder.Set("keepdims", int64_t{0});
  const Tensor out = RunNode(MakeReduceMax, builder,
                             {TensorOf<bool>({2, 2}, {false, true, false, false}), TensorOf<int64_t>({1}, {1})})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{1, 0}));
}

TEST(ReduceMin, OfNoBoolsIsTrue) {
  const Tensor out = RunNode(MakeReduceMin, PrimitiveBuilder("", "ReduceMin", 20), {TensorOf<bool>({0}, {})})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), std::vector<uint8_t>{1});
}

TEST(ReduceProd, OfStringsIsRefused) {
  Graph graph;
  Node node;
  node.primitive = PrimitiveBuilder("", "ReduceProd", 18).Finish();
  node.inputs.push_back(graph.AddValue("", ValueType{DType::kString, false, {}}));
  node.outputs.push_back(graph.AddValue("", ValueType{DType::kString, false, {}}));
  const KernelResult kernel = MakeReduceProd({node, graph});
  EXPECT_EQ(kernel.status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(kernel.status().message(), "ReduceProd of string");
}

TEST(ArgMax, DropsTheAxisUnlessKept) {
  PrimitiveBuilder builder("", "ArgMax", 13);
  builder.Set("axis", int64_t{1}).Set("keepdims", int64_t{0});
  const Tensor out = RunNode(MakeArgMax, builder, {TensorOf<float>({2, 3}, {1, 3, 2, 6, 4, 5})})[0];
  EXPECT_EQ(out.shape(), Shape{2});
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{1, 0}));
}

TEST(ArgMin, OfFloat16GivesInt64) {
  const Tensor source = TensorOf<Half>({3}, {ToHalf(2.0f), ToHalf(-1.0f), ToHalf(0.0f)});
  EXPECT_EQ(ValuesOf<int64_t>(RunNode(MakeArgMin, PrimitiveBuilder("", "ArgMin", 13), {source})[0]),
            std::vector<int64_t>{1});
}

TEST(ArgMin, AlongAnEmptyAxisIsAnError) {
  EXPECT_EQ(TryRunNode(MakeArgMin, PrimitiveBuilder("", "ArgMin", 13), {TensorOf<float>({0, 2}, {})}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Softmax, BeforeThirteenNormalisesAllAxesFromTheAxisOn) {
  const Tensor zeros = TensorOf<float>({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeSoftmax, PrimitiveBuilder("", "Softmax", 11), {zeros})[0]),
            (std::vector<float>(4, 0.25f)));
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeSoftmax, PrimitiveBuilder("", "Softmax", 13), {zeros})[0]),
            (std::vector<float>(4, 0.5f)));
}

TEST(Softmax, BeforeThirteenAnAxisBehindTheLastMakesOnes) {
  PrimitiveBuilder builder("", "Softmax", 1);
  builder.Set("axis", int64_t{1});
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeSoftmax, builder, {TensorOf<float>({2}, {5, 7})})[0]),
            (std::vector<float>{1, 1}));
}

TEST(LogSoftmax, OfFloat16IsFloat16) {
  const Tensor out = RunNode(MakeLogSoftmax, PrimitiveBuilder("", "LogSoftmax", 13),
                             {TensorOf<Half>({1, 2}, {ToHalf(0.0f), ToHalf(0.0f)})})[0];
  EXPECT_EQ(ValuesOf<uint16_t>(out), (std::vector<uint16_t>(2, ToHalf(-0.6931472f).bits)));
}

TEST(CumSum, AxisIsReadAtTheRun) {
  const PrimitiveBuilder builder("", "CumSum", 14);
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeCumSum, builder, {kSix, TensorOf<int32_t>({}, {0})})[0]),
            (std::vector<float>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeCumSum, builder, {kSix, TensorOf<int64_t>({1}, {-1})})[0]),
            (std::vector<float>{1, 3, 6, 4, 9, 15}));
}

}  // namespace
}  // namespace deputy::host
