// Resize and Upsample, each as a node would run. Expected numbers are those of the ONNX reference implementation.
#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

const Tensor kNoInput;

Tensor Line() { return TensorOf<float>({5}, {1, 2, 4, 8, 16}); }
Tensor Picture() { return TensorOf<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}); }

PrimitiveBuilder Resize(const char* mode, const char* coordinates = "half_pixel", int32_t version = 19) {
  return PrimitiveBuilder("", "Resize", version)
      .Set("mode", std::string(mode))
      .Set("coordinate_transformation_mode", std::string(coordinates));
}

// The line resized to `size` elements.
Floats Resized(const PrimitiveBuilder& builder, int64_t size, const Tensor& roi = kNoInput) {
  return ValuesOf<float>(RunNode(MakeResize, builder, {Line(), roi, kNoInput, TensorOf<int64_t>({1}, {size})})[0]);
}

void ExpectNear(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5f * std::max(1.0f, want[i])) << "at " << i;
}

TEST(Resize, LinearTwiceAsLarge) {
  const std::vector<Tensor> out =
      RunNode(MakeResize, Resize("linear"), {Picture(), kNoInput, TensorOf<float>({4}, {1, 1, 2, 2})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 4, 6}));
  ExpectNear(ValuesOf<float>(out[0]), {1,    1.25, 1.75, 2.25, 2.75, 3,    1.75, 2,    2.5,  3,    3.5,  3.75,
                                       3.25, 3.5,  4,    4.5,  5,    5.25, 4,    4.25, 4.75, 5.25, 5.75, 6});
}

TEST(Resize, LinearWithAlignedCornersToSizes) {
  const std::vector<Tensor> out =
      RunNode(MakeResize, Resize("linear", "align_corners", 11),
              {Picture(), TensorOf<float>({0}, {}), TensorOf<float>({0}, {}), TensorOf<int64_t>({4}, {1, 1, 3, 5})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 3, 5}));
  ExpectNear(ValuesOf<float>(out[0]), {1, 1.5f, 2, 2.5f, 3, 2.5f, 3, 3.5f, 4, 4.5f, 4, 4.5f, 5, 5.5f, 6});
}

TEST(Resize, AlignedCornersMeasureTheExtentBeforeItIsRounded) {
  const std::vector<Tensor> out = RunNode(MakeResize, Resize("linear", "align_corners"),
                                          {TensorOf<float>({4}, {1, 2, 3, 4}), kNoInput, TensorOf<float>({1}, {0.6f})});
  ExpectNear(ValuesOf<float>(out[0]), {1, 3.142857f});
}

TEST(Resize, Cubic) {
  ExpectNear(Resized(Resize("cubic"), 8),
             {0.9071655f, 1.268311f, 2.129578f, 3.022522f, 4.988159f, 7.477173f, 12.88452f, 16.74268f});
}

TEST(Resize, CubicWithoutNeighboursOutside) {
  ExpectNear(Resized(Resize("cubic").Set("exclude_outside", int64_t{1}).Set("cubic_coeff_a", -0.5f), 8),
             {0.9280443f, 1.294098f, 2.093872f, 3.193726f, 4.968018f, 7.636475f, 13.04304f, 16.57565f});
}

TEST(Resize, AntialiasWidensTheFilter) {
  ExpectNear(Resized(Resize("linear").Set("antialias", int64_t{1}), 2), {2.24f, 10.16f});
  ExpectNear(Resized(Resize("cubic").Set("antialias", int64_t{1}), 2), {1.407501f, 10.466f});
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

TEST(Resize, CropsAndExtrapolates) {
  EXPECT_EQ(Resized(Resize("linear", "tf_crop_and_resize").Set("extrapolation_value", -1.0f), 5,
                    TensorOf<float>({2}, {-0.25f, 0.75f})),
            (Floats{-1, 1, 2, 4, 8}));
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

TEST(Resize, NearestMovesBoolsAndIntegers) {
  const std::vector<Tensor> out =
      RunNode(MakeResize, Resize("nearest"),
              {TensorOf<uint8_t>({2}, {1, 0}, DType::kBool), kNoInput, TensorOf<float>({1}, {3})});
  EXPECT_EQ(ValuesOf<uint8_t>(out[0]), (std::vector<uint8_t>{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(out[0].dtype(), DType::kBool);
}

TEST(Resize, SymmetricHalfPixelsKeepTheCentre) {
  const std::vector<Tensor> out =
      RunNode(MakeResize, Resize("linear", "half_pixel_symmetric"), {Line(), kNoInput, TensorOf<float>({1}, {0.5f})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{2, 8}));
}

TEST(Resize, PytorchTakesTheFirstOfALineForOneElement) {
  EXPECT_EQ(Resized(Resize("linear", "pytorch_half_pixel"), 1), (Floats{1}));
}

TEST(Resize, KeepsTheAspectRatio) {
  const auto resized = [](const char* policy) {
    const PrimitiveBuilder builder =
        Resize("nearest").Set("axes", std::vector<int64_t>{2, -1}).Set("keep_aspect_ratio_policy", std::string(policy));
    return RunNode(MakeResize, builder, {Picture(), kNoInput, kNoInput, TensorOf<int64_t>({2}, {4, 4})})[0];
  };
  EXPECT_EQ(resized("not_larger").shape(), (Shape{1, 1, 3, 4}));
  EXPECT_EQ(ValuesOf<float>(resized("not_larger")), (Floats{1, 2, 2, 3, 4, 5, 5, 6, 4, 5, 5, 6}));
  EXPECT_EQ(resized("not_smaller").shape(), (Shape{1, 1, 4, 6}));
}

TEST(Resize, HalvesAreComputedInSinglePrecision) {
  const std::vector<Tensor> out =
      RunNode(MakeResize, Resize("linear"),
              {TensorOf<uint16_t>({2}, {0x3c00, 0x4000}, DType::kFloat16), kNoInput, TensorOf<float>({1}, {2})});
  EXPECT_EQ(ValuesOf<uint16_t>(out[0]), (std::vector<uint16_t>{0x3c00, 0x3d00, 0x3f00, 0x4000}));
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
  EXPECT_EQ(out.status().message(), "cannot resize by -1");
}

TEST(Resize, ScalesForOtherAxesAreRefused) {
  const Result<std::vector<Tensor>> out =
      TryRunNode(MakeResize, Resize("linear"), {Line(), kNoInput, TensorOf<float>({2}, {1, 2})});
  EXPECT_EQ(out.status().message(), "2 scales are given for 1 axes");
}

TEST(Upsample, RepeatsElements) {
  const std::vector<Tensor> out = RunNode(MakeUpsample, PrimitiveBuilder("", "Upsample", 9),
                                          {TensorOf<float>({1, 2}, {1, 2}), TensorOf<float>({2}, {2, 3})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 6}));
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

}  // namespace
}  // namespace deputy::host
