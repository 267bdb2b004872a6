// Normalizations by a norm or by groups, each as a node would run. Expected numbers are those of the ONNX reference
// implementation.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

TEST(RMSNormalization, ScalesByElement) {
  ExpectFloats(RunNode(MakeRMSNormalization, PrimitiveBuilder("", "RMSNormalization", 23),
                       {TensorOf<float>({2, 3}, {1, 2, 2, 3, 0, 4}), TensorOf<float>({3}, {1, 0.5f, 2})})[0],
               {0.5773493f, 0.5773493f, 2.309397f, 1.03923f, 0, 2.77128f});
}

TEST(RMSNormalization, ScaleBroadcasts) {
  ExpectFloats(RunNode(MakeRMSNormalization, PrimitiveBuilder("", "RMSNormalization", 23),
                       {TensorOf<float>({1, 2}, {3, 4}), TensorOf<float>({1}, {5})})[0],
               {4.242639f, 5.656852f});
}

Tensor Channels() { return TensorOf<float>({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}); }

TEST(GroupNormalization, ScalesByChannel) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "GroupNormalization", 21).Set("num_groups", int64_t{2});
  ExpectFloats(RunNode(MakeGroupNormalization, builder,
                       {Channels(), TensorOf<float>({4}, {1, 2, 3, 4}), TensorOf<float>({4}, {0, 0, 1, 1})})[0],
               {-1.341635f, -0.4472118f, 0.8944237f, 2.683271f, -3.024906f, -0.3416355f, 2.788847f, 6.366542f});
}

TEST(GroupNormalization, ScaledByGroupBeforeOpset21) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "GroupNormalization", 18).Set("num_groups", int64_t{2});
  ExpectFloats(RunNode(MakeGroupNormalization, builder,
                       {Channels(), TensorOf<float>({2}, {1, 2}), TensorOf<float>({2}, {0, 1})})[0],
               {-1.341635f, -0.4472118f, 0.4472118f, 1.341635f, -1.683271f, 0.1055763f, 1.894424f, 3.683271f});
}

TEST(LpNormalization, ZerosStayZeros) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "LpNormalization", 22).Set("axis", int64_t{1});
  ExpectFloats(RunNode(MakeLpNormalization, builder, {TensorOf<float>({2, 2}, {3, 4, 0, 0})})[0], {0.6f, 0.8f, 0, 0});
}

TEST(LpNormalization, SumOfMagnitudesAlongTheFirstAxis) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "LpNormalization", 22).Set("axis", int64_t{0}).Set("p", int64_t{1});
  ExpectFloats(RunNode(MakeLpNormalization, builder, {TensorOf<float>({2, 2}, {3, -4, 1, 1})})[0],
               {0.75f, -0.8f, 0.25f, 0.2f});
}

TEST(MeanVarianceNormalization, OverAllButTheChannels) {
  ExpectFloats(RunNode(MakeMeanVarianceNormalization, PrimitiveBuilder("", "MeanVarianceNormalization", 13),
                       {TensorOf<float>({1, 1, 2, 2}, {1, 2, 3, 6})})[0],
               {-1.069045f, -0.5345225f, 0, 1.603567f});
}

TEST(MeanVarianceNormalization, TheInnermostAxisStays) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "MeanVarianceNormalization", 13).Set("axes", std::vector<int64_t>{0, 1});
  ExpectFloats(
      RunNode(MakeMeanVarianceNormalization, builder, {TensorOf<float>({2, 2, 2}, {1, 10, 2, 10, 3, 20, 6, 20})})[0],
      {-1.069045f, -1, -0.5345225f, -1, 0, 1, 1.603567f, 1});
}

TEST(LpPool, RootOfTheSumOfSquares) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "LpPool", 18).Set("kernel_shape", std::vector<int64_t>{2, 2});
  ExpectFloats(RunNode(MakeLpPool, builder, {TensorOf<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})})[0],
               {6.78233f, 8.602325f, 12.40967f, 14.3527f});
}

TEST(GlobalLpPool, SumOfMagnitudes) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "GlobalLpPool", 2).Set("p", int64_t{1});
  const std::vector<Tensor> out = RunNode(MakeGlobalLpPool, builder, {TensorOf<float>({1, 2, 2}, {1, -2, 3, 4})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 1}));
  ExpectFloats(out[0], {3, 7});
}

}  // namespace
}  // namespace deputy::host
