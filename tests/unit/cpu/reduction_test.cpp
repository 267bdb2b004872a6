// The operators that work along axes, each as a node would run.
#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

const Tensor kSix = TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(ReduceMean, OfFloat16IsRoundedOnce) {
  // The sum is beyond the largest half; the mean is not.
  const std::vector<Half> large(4, ToHalf(60000.0f));
  const Tensor out = RunNode(MakeReduceMean, PrimitiveBuilder("", "ReduceMean", 18), {TensorOf<Half>({4}, large)})[0];
  EXPECT_EQ(ValuesOf<uint16_t>(out), std::vector<uint16_t>{ToHalf(60000.0f).bits});
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
  EXPECT_EQ(kernel.status().message(), "ReduceProd of string is not supported");
}

TEST(Softmax, BeforeThirteenAnAxisBehindTheLastMakesOnes) {
  PrimitiveBuilder builder("", "Softmax", 1);
  builder.Set("axis", int64_t{1});
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeSoftmax, builder, {TensorOf<float>({2}, {5, 7})})[0]),
            (std::vector<float>{1, 1}));
}

TEST(CumSum, AxisIsReadAtTheRun) {
  const PrimitiveBuilder builder("", "CumSum", 14);
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeCumSum, builder, {kSix, TensorOf<int32_t>({}, {0})})[0]),
            (std::vector<float>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeCumSum, builder, {kSix, TensorOf<int64_t>({1}, {-1})})[0]),
            (std::vector<float>{1, 3, 6, 4, 9, 15}));
}

TEST(NegativeLogLikelihoodLoss, AnIgnoredClassMayBeAnyNumber) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "NegativeLogLikelihoodLoss", 13)
                                       .Set("ignore_index", std::numeric_limits<int64_t>::max())
                                       .Set("reduction", std::string("sum"));
  const Tensor out =
      RunNode(MakeNegativeLogLikelihoodLoss, builder, {TensorOf<float>({2, 2}, {1, 2, 3, 4}), List({INT64_MAX, 1})})[0];
  EXPECT_EQ(ValuesOf<float>(out), std::vector<float>{-4});
}

}  // namespace
}  // namespace deputy::host
