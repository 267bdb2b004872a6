// The losses and Unique, each as a node would run. Expected numbers are those of the ONNX reference implementation.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

using Ints = std::vector<int64_t>;

TEST(NegativeLogLikelihoodLoss, MeanByWeight) {
  const Tensor scores =
      TensorOf<float>({2, 3}, {-1.609438f, -1.203973f, -0.6931472f, -2.302585f, -0.5108256f, -1.203973f});
  ExpectFloats(RunNode(MakeNegativeLogLikelihoodLoss, PrimitiveBuilder("", "NegativeLogLikelihoodLoss", 13),
                       {scores, TensorOf<int64_t>({2}, {2, 1}), TensorOf<float>({3}, {1, 2, 4})})[0],
               {0.6323733f});
}

TEST(NegativeLogLikelihoodLoss, ClassOutOfRangeIsRefused) {
  EXPECT_EQ(TryRunNode(MakeNegativeLogLikelihoodLoss, PrimitiveBuilder("", "NegativeLogLikelihoodLoss", 13),
                       {TensorOf<float>({1, 2}, {0, 0}), TensorOf<int64_t>({1}, {2})})
                .status()
                .message(),
            "class 2 is outside [0, 1]");
}

TEST(SoftmaxCrossEntropyLoss, IgnoredClassCostsNothing) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "SoftmaxCrossEntropyLoss", 13)
                                       .Set("ignore_index", int64_t{-1})
                                       .Set("reduction", std::string("sum"));
  const std::vector<Tensor> out = RunNode(
      MakeSoftmaxCrossEntropyLoss, builder,
      {TensorOf<float>({2, 3}, {1, 2, 3, 0, 0, 0}), TensorOf<int64_t>({2}, {0, -1})}, {.outputs = 2, .constants = {}});
  ExpectFloats(out[0], {2.407606f});
  ExpectFloats(out[1], {-2.407606f, -1.407606f, -0.407606f, -1.098612f, -1.098612f, -1.098612f});
}

std::vector<Tensor> Unique(const PrimitiveBuilder& builder, const Tensor& input) {
  return RunNode(MakeUnique, builder, {input}, {.outputs = 4, .constants = {}});
}

TEST(Unique, InOrderOfAppearance) {
  const std::vector<Tensor> out =
      Unique(PrimitiveBuilder("", "Unique", 11).Set("sorted", int64_t{0}), TensorOf<float>({5}, {2, 1, 1, 3, 2}));
  ExpectFloats(out[0], {2, 1, 3});
  EXPECT_EQ(ValuesOf<int64_t>(out[1]), (Ints{0, 1, 3}));
  EXPECT_EQ(ValuesOf<int64_t>(out[2]), (Ints{0, 1, 1, 2, 0}));
  EXPECT_EQ(ValuesOf<int64_t>(out[3]), (Ints{2, 2, 1}));
}

TEST(Unique, SortedSlices) {
  const std::vector<Tensor> out =
      Unique(PrimitiveBuilder("", "Unique", 11).Set("axis", int64_t{1}), TensorOf<int32_t>({2, 3}, {2, 1, 2, 5, 4, 5}));
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(ValuesOf<int32_t>(out[0]), (std::vector<int32_t>{1, 2, 4, 5}));
  EXPECT_EQ(ValuesOf<int64_t>(out[1]), (Ints{1, 0}));
  EXPECT_EQ(ValuesOf<int64_t>(out[2]), (Ints{1, 0, 1}));
  EXPECT_EQ(ValuesOf<int64_t>(out[3]), (Ints{1, 2}));
}

}  // namespace
}  // namespace deputy::host
