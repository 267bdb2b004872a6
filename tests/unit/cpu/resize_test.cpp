// Resize and Upsample, each as a node would run. Expected numbers are those of the ONNX reference implementation.
#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

Tensor Line() { return TensorOf<float>({5}, {1, 2, 4, 8, 16}); }

PrimitiveBuilder Resize(const char* mode, const char* coordinates = "half_pixel", int32_t version = 19) {
  return PrimitiveBuilder("", "Resize", version)
      .Set("mode", std::string(mode))
      .Set("coordinate_transformation_mode", std::string(coordinates));
}

// The line resized to `size` elements.
Floats Resized(const PrimitiveBuilder& builder, int64_t size) {
  return ValuesOf<float>(RunNode(MakeResize, builder, {Line(), kNoInput, kNoInput, TensorOf<int64_t>({1}, {size})})[0]);
}

void ExpectNear(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5f * std::max(1.0f, want[i])) << "at " << i;
}

TEST(Resize, AlignedCornersMeasureTheExtentBeforeItIsRounded) {
  const std::vector<Tensor> out = RunNode(MakeResize, Resize("linear", "align_corners"),
                                          {TensorOf<float>({4}, {1, 2, 3, 4}), kNoInput, TensorOf<float>({1}, {0.6f})});
  ExpectNear(ValuesOf<float>(out[0]), {1, 3.142857f});
}

// Three rows become 0.6 of one, rounded up: the filter reaches 10 rows to either side.
TEST(Resize, AntialiasReachesAllThatAKeptAspectRatioLeavesOfAnAxis) {
  const PrimitiveBuilder builder = Resize("cubic", "half_pixel_symmetric")
                                       .Set("antialias", int64_t{1})
                                       .Set("keep_aspect_ratio_policy", std::string("not_larger"));
  const Tensor rows = TensorOf<float>({3, 5}, {1, 1, 1, 1, 1, 10, 10, 10, 10, 10, 100, 100, 100, 100, 100});
  const std::vector<Tensor> out =
      RunNode(MakeResize, builder, {rows, kNoInput, kNoInput, TensorOf<int64_t>({2}, {3, 1})});
  ExpectNear(ValuesOf<float>(out[0]), {0.4f * 1 + 0.2f * 10 + 0.4f * 100});
}

TEST(Resize, AntialiasRoundsIntegers) {
  const std::vector<Tensor> out =
      RunNode(MakeResize, Resize("linear").Set("antialias", int64_t{1}),
              {TensorOf<uint8_t>({5}, {1, 2, 4, 8, 26}), kNoInput, kNoInput, TensorOf<int64_t>({1}, {2})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{2, 14}));  // 2.24 and 14.16
}

TEST(Resize, NearestRoundsHalvesAsAsked) {
  const auto resized = [](const char* nearest) {
    return Resized(Resize("nearest", "asymmetric").Set("nearest_mode", std::string(nearest)), 10);
  };
  EXPECT_EQ(resized("round_prefer_floor"), (Floats{1, 1, 2, 2, 4, 4, 8, 8, 16, 16}));
  EXPECT_EQ(resized("round_prefer_ceil"), (Floats{1, 2, 2, 4, 4, 8, 8, 16, 16, 16}));
  EXPECT_EQ(resized("floor"), (Floats{1, 1, 2, 2, 4, 4, 8, 8, 16, 16}));
  EXPECT_EQ(resized("ceil"), (Floats{1, 2, 2, 4, 4, 8, 8, 16, 16, 16}));
}

TEST(Resize, SymmetricHalfPixelsKeepTheCentre) {
  const std::vector<Tensor> out =
      RunNode(MakeResize, Resize("linear", "half_pixel_symmetric"), {Line(), kNoInput, TensorOf<float>({1}, {0.5f})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{2, 8}));
}

TEST(Resize, PytorchTakesTheFirstOfALineForOneElement) {
  EXPECT_EQ(Resized(Resize("linear", "pytorch_half_pixel"), 1), (Floats{1}));
}

TEST(Resize, BeforeOpset11ShrinkingPrefersTheRightNeighbour) {
  const std::vector<Tensor> out = RunNode(MakeResize, PrimitiveBuilder("", "Resize", 10),
                                          {TensorOf<float>({1, 4}, {1, 2, 3, 4}), TensorOf<float>({2}, {1, 0.6f})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{1, 3}));
}

TEST(Resize, EqualScalesCopy) {
  const std::vector<Tensor> out = RunNode(MakeResize, Resize("cubic"), {Line(), kNoInput, TensorOf<float>({1}, {1})});
  EXPECT_EQ(ValuesOf<float>(out[0]), ValuesOf<float>(Line()));
}

TEST(Resize, ScaleThatIsNoNumberIsRefused) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeResize, Resize("linear"), {Line(), kNoInput, TensorOf<float>({1}, {-1})});
  EXPECT_EQ(out.status().message(), "scales must be positive and finite, got -1");
}

TEST(Resize, ScalesAndSizesAtOnceAreRefused) {
  const Status status =
      RunUnchecked(MakeResize, Resize("linear"), {Line(), Zeros({0}), TensorOf<float>({1}, {1}), List({5})}, Line());
  EXPECT_EQ(status.message(), "scales and sizes are both given, expected one of them");
}

TEST(Resize, ScalesForOtherAxesAreRefused) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeResize, Resize("linear"), {Line(), kNoInput, TensorOf<float>({2}, {1, 2})});
  EXPECT_EQ(out.status().message(), "input 'scales' has shape [2], expected 1 element");
}

TEST(Resize, ExtrapolationForADTypeThatIsOnlyStoredIsRefused) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Resize", 19)
                                       .Set("coordinate_transformation_mode", std::string("tf_crop_and_resize"))
                                       .Set("mode", std::string("nearest"));
  EXPECT_EQ(Failure(MakeResize, builder,
                    {TensorOf<uint8_t>({1, 1, 2, 2}, {1, 2, 3, 4}, DType::kFloat8E4M3FN),
                     TensorOf<float>({8}, {0, 0, 0, 0, 1, 1, 1, 1}), kNoInput, List({1, 1, 3, 3})},
                    {.constants = {1, 3}}),
            "extrapolation for dtype float8e4m3fn is not supported");
}

}  // namespace
}  // namespace deputy::host
