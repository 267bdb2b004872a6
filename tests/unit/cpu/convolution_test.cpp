// Conv and ConvTranspose, each as a node would run.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

PrimitiveBuilder Conv() { return PrimitiveBuilder("", "Conv", 11); }
PrimitiveBuilder ConvTranspose() { return PrimitiveBuilder("", "ConvTranspose", 11); }

TEST(ConvOnCpu, ShapesMayBeKnownToTheRunOnly) {
  const auto y = RunNode(MakeConv, Conv(), {TensorOf<float>({1, 1, 3}, {1, 2, 3}), TensorOf<float>({1, 1, 2}, {1, 10})},
                         {.hide_shapes = true});
  EXPECT_EQ(ValuesOf<float>(y[0]), (Floats{21, 32}));
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

TEST(ConvOnCpu, IntegersAreNotSupported) {
  EXPECT_EQ(TryRunNode(MakeConv, Conv(), {TensorOf<int32_t>({1, 1, 3}, {1, 2, 3}), TensorOf<int32_t>({1, 1, 1}, {1})})
                .status()
                .code(),
            StatusCode::kNotSupported);
}

TEST(ConvOnCpu, ChannelsThatDoNotFitAreRefusedByTheRun) {
  const Status status = RunUnchecked(MakeConv, Conv(), {Zeros({1, 3, 8}), Zeros({2, 4, 3})}, Zeros({1, 2, 6}));
  EXPECT_EQ(status.message(), "W of shape [2,4,3] does not match 3 input channels in 1 groups");
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

TEST(ConvTransposeOnCpu, ChannelsThatDoNotFitAreRefusedByTheRun) {
  EXPECT_EQ(
      RunUnchecked(MakeConvTranspose, ConvTranspose(), {Zeros({1, 3, 8}), Zeros({2, 4, 1})}, Zeros({1, 4, 8})).code(),
      StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deputy::host
