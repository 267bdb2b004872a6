// Operators of geometry, each as a node would run. Expected numbers are those of the ONNX reference implementation.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

Tensor Counting(Shape shape, float first = 0) {
  Tensor tensor = Tensor::Allocate(DType::kFloat32, std::move(shape)).value();
  for (float& value : tensor.mutable_values<float>()) value = first++;
  return tensor;
}

struct GridCase {
  const char* mode;
  const char* padding;
  std::vector<float> want;
};

TEST(GridSample, ModesAndPaddings) {
  const GridCase cases[] = {{"linear", "zeros", {0, 7.5f, 1.449999f}},
                            {"linear", "border", {0, 7.5f, 14.5f}},
                            {"linear", "reflection", {0, 7.5f, 14.5f}},
                            {"nearest", "zeros", {0, 10, 0}},
                            {"nearest", "border", {0, 10, 14}},
                            {"nearest", "reflection", {0, 10, 14}},
                            {"cubic", "zeros", {-0.234375f, 7.5f, 1.341528f}},
                            {"cubic", "border", {-0.46875f, 7.5f, 14.620751f}},
                            {"cubic", "reflection", {-0.9375f, 7.5f, 14.86375f}}};
  for (const GridCase& one : cases) {
    SCOPED_TRACE(std::string(one.mode) + " " + one.padding);
    const PrimitiveBuilder builder = PrimitiveBuilder("", "GridSample", 20)
                                         .Set("mode", std::string(one.mode))
                                         .Set("padding_mode", std::string(one.padding));
    const std::vector<Tensor> out = RunNode(
        MakeGridSample, builder, {Counting({1, 1, 4, 4}), TensorOf<float>({1, 1, 3, 2}, {-1, -1, 0, 0, 0.5f, 1.2f})});
    EXPECT_EQ(out[0].shape(), (Shape{1, 1, 1, 3}));
    ExpectFloats(out[0], one.want);
  }
}

TEST(AffineGrid, CentresOfPixels) {
  const std::vector<Tensor> out =
      RunNode(MakeAffineGrid, PrimitiveBuilder("", "AffineGrid", 20),
              {TensorOf<float>({1, 2, 3}, {1, 0, 0.5f, 0, 2, 0}), TensorOf<int64_t>({4}, {1, 1, 2, 2})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 2, 2}));
  ExpectFloats(out[0], {0, -1, 1, -1, 0, 1, 1, 1});
}

TEST(CenterCropPad, CropsOneAxisAndPadsAnother) {
  const std::vector<Tensor> out = RunNode(MakeCenterCropPad, PrimitiveBuilder("", "CenterCropPad", 18),
                                          {Counting({2, 3}), TensorOf<int64_t>({2}, {3, 2})});
  ExpectFloats(out[0], {0, 1, 3, 4, 0, 0});
}

TEST(Col2Im, OverlappingBlocksAddUp) {
  const std::vector<Tensor> out =
      RunNode(MakeCol2Im, PrimitiveBuilder("", "Col2Im", 18),
              {Counting({1, 4, 2}, 1), TensorOf<int64_t>({2}, {2, 3}), TensorOf<int64_t>({2}, {2, 2})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 2, 3}));
  ExpectFloats(out[0], {1, 5, 4, 5, 13, 8});
}

TEST(MaxUnpool, ElementsGoBackToTheirPlaces) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "MaxUnpool", 11)
                                       .Set("kernel_shape", std::vector<int64_t>{2, 2})
                                       .Set("strides", std::vector<int64_t>{2, 2});
  const std::vector<Tensor> out =
      RunNode(MakeMaxUnpool, builder, {TensorOf<float>({1, 1, 1, 2}, {5, 7}), TensorOf<int64_t>({1, 1, 1, 2}, {1, 6})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 2, 4}));
  ExpectFloats(out[0], {0, 5, 0, 0, 0, 0, 7, 0});
}

TEST(MaxUnpool, PlaceOutsideIsRefused) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "MaxUnpool", 11).Set("kernel_shape", std::vector<int64_t>{1});
  EXPECT_EQ(TryRunNode(MakeMaxUnpool, builder, {TensorOf<float>({1, 1, 1}, {5}), TensorOf<int64_t>({1, 1, 1}, {1})})
                .status()
                .message(),
            "index 1 is outside an output of 1 elements");
}

TEST(DeformConv, OffsetsMoveTheTaps) {
  Tensor offsets = Tensor::Allocate(DType::kFloat32, {1, 8, 2, 2}).value();
  for (size_t i = 0; i < 4; ++i) offsets.mutable_values<float>()[i] = 0.5f;
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "DeformConv", 19).Set("kernel_shape", std::vector<int64_t>{2, 2});
  ExpectFloats(RunNode(MakeDeformConv, builder,
                       {Counting({1, 1, 3, 3}), TensorOf<float>({1, 1, 2, 2}, {1, 1, 1, 1}), offsets})[0],
               {9.5f, 13.5f, 21.5f, 25.5f});
}

TEST(Det, SingularMatricesGiveZero) {
  ExpectFloats(
      RunNode(MakeDet, PrimitiveBuilder("", "Det", 11), {TensorOf<float>({2, 2, 2}, {0, 1, 2, 3, 1, 2, 2, 4})})[0],
      {-2, 0});
}

TEST(GridSample, IntegersAreTakenAsTheyAre) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "GridSample", 20).Set("mode", std::string("nearest"));
  const int64_t large = INT64_MAX;
  const std::vector<Tensor> out = RunNode(
      MakeGridSample, builder,
      {TensorOf<int64_t>({1, 1, 1, 2}, {large, large - 1}), TensorOf<float>({1, 1, 2, 2}, {-0.5f, 0, 0.5f, 0})});
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (std::vector<int64_t>{large, large - 1}));
}

TEST(AffineGrid, OneElementIsInTheMiddle) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "AffineGrid", 20).Set("align_corners", int64_t{1});
  ExpectFloats(RunNode(MakeAffineGrid, builder,
                       {TensorOf<float>({1, 2, 3}, {1, 0, 0.25f, 0, 1, 0.5f}), TensorOf<int64_t>({4}, {1, 1, 1, 1})},
                       {1, {1}})[0],
               {0.25f, 0.5f});
}

TEST(Col2Im, IntegersWrapAndTruthsJoin) {
  const auto run = [](const Tensor& columns) {
    return RunNode(MakeCol2Im, PrimitiveBuilder("", "Col2Im", 18),
                   {columns, TensorOf<int64_t>({1}, {3}), TensorOf<int64_t>({1}, {2})}, {1, {1, 2}})[0];
  };
  EXPECT_EQ(ValuesOf<uint8_t>(run(TensorOf<uint8_t>({1, 2, 2}, {1, 200, 100, 3}))), (std::vector<uint8_t>{1, 44, 3}));
  EXPECT_EQ(ValuesOf<uint8_t>(run(TensorOf<uint8_t>({1, 2, 2}, {0, 1, 1, 0}, DType::kBool))),
            (std::vector<uint8_t>{0, 1, 0}));
}

}  // namespace
}  // namespace deputy::host
