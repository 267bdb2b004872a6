// Operators of detection, each as a node would run. Expected numbers are those of the ONNX reference implementation.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

using Ints = std::vector<int64_t>;

Tensor Boxes() {
  return TensorOf<float>(
      {1, 6, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100, 1, 101});
}
Tensor Scores() { return TensorOf<float>({1, 1, 6}, {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f}); }

TEST(NonMaxSuppression, BestBoxesFirst) {
  const std::vector<Tensor> out = RunNode(
      MakeNonMaxSuppression, PrimitiveBuilder("", "NonMaxSuppression", 11),
      {Boxes(), Scores(), TensorOf<int64_t>({1}, {3}), TensorOf<float>({1}, {0.5f}), TensorOf<float>({1}, {0.4f})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (Ints{0, 0, 3, 0, 0, 0}));
}

TEST(NonMaxSuppression, WithoutAScoreThresholdAllCount) {
  const std::vector<Tensor> out =
      RunNode(MakeNonMaxSuppression, PrimitiveBuilder("", "NonMaxSuppression", 11),
              {Boxes(), Scores(), TensorOf<int64_t>({1}, {9}), TensorOf<float>({1}, {0.5f})});
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (Ints{0, 0, 3, 0, 0, 0, 0, 0, 5}));
}

TEST(NonMaxSuppression, WithoutALimitNothingIsChosen) {
  const std::vector<Tensor> out =
      RunNode(MakeNonMaxSuppression, PrimitiveBuilder("", "NonMaxSuppression", 11), {Boxes(), Scores()});
  EXPECT_EQ(out[0].shape(), (Shape{0, 3}));
}

TEST(NonMaxSuppression, CornersMayBeSwappedAndEqualScoresKeepTheirOrder) {
  const std::vector<Tensor> out =
      RunNode(MakeNonMaxSuppression, PrimitiveBuilder("", "NonMaxSuppression", 11),
              {TensorOf<float>({1, 3, 4}, {1, 1, 0, 0, 0, 0, 1, 1, 5, 5, 6, 6}), TensorOf<float>({1, 1, 3}, {1, 1, 1}),
               TensorOf<int64_t>({1}, {3}), TensorOf<float>({1}, {0.5f})});
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (Ints{0, 0, 0, 0, 0, 2}));
}

TEST(NonMaxSuppression, BoxesGivenByTheirCentres) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "NonMaxSuppression", 11).Set("center_point_box", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeNonMaxSuppression, builder,
              {TensorOf<float>({1, 2, 4}, {0, 0, 2, 2, 0.1f, 0, 2, 2}), TensorOf<float>({1, 1, 2}, {0.5f, 0.6f}),
               TensorOf<int64_t>({1}, {2}), TensorOf<float>({1}, {0.5f})});
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (Ints{0, 0, 1}));
}

Tensor Image() { return TensorOf<float>({1, 1, 4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}); }

PrimitiveBuilder RoiAlign(int32_t version) {
  return PrimitiveBuilder("", "RoiAlign", version)
      .Set("output_height", int64_t{2})
      .Set("output_width", int64_t{2})
      .Set("sampling_ratio", int64_t{2});
}

std::vector<Tensor> Region() { return {Image(), TensorOf<float>({1, 4}, {0, 0, 3, 3}), TensorOf<int64_t>({1}, {0})}; }

TEST(RoiAlign, CoordinatesOfCentres) {
  ExpectFloats(RunNode(MakeRoiAlign, RoiAlign(16), Region())[0], {1.5625f, 3, 7.3125f, 8.75f});
}

TEST(RoiAlign, BeforeOpset16CoordinatesWereThoseOfCorners) {
  ExpectFloats(RunNode(MakeRoiAlign, RoiAlign(10), Region())[0], {3.75f, 5.25f, 9.75f, 11.25f});
}

TEST(RoiAlign, ImageThatIsNotThereIsRefused) {
  std::vector<Tensor> inputs = Region();
  inputs[2] = TensorOf<int64_t>({1}, {1});
  EXPECT_EQ(TryRunNode(MakeRoiAlign, RoiAlign(16), inputs).status().message(), "batch index 1 is outside [0, 0]");
}

TEST(MaxRoiPool, MaximumOfEachBin) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "MaxRoiPool", 1).Set("pooled_shape", std::vector<int64_t>{2, 2});
  ExpectFloats(RunNode(MakeMaxRoiPool, builder, {Image(), TensorOf<float>({1, 5}, {0, 0, 0, 3, 3})})[0],
               {5, 7, 13, 15});
}

}  // namespace
}  // namespace deputy::host
