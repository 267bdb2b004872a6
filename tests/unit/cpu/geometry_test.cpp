// Operators of geometry, each as a node would run. Expected numbers are those of the ONNX reference implementation.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

// Which the definition's words alone do not fix, so that the oracle has no case.
TEST(GridSample, CubicFilterBetweenTheBorderAndTheOutermostElements) {
  const std::pair<const char*, std::vector<float>> cases[] = {{"border", {-0.46875f, 7.5f, 14.620751f}},
                                                              {"reflection", {-0.9375f, 7.5f, 14.86375f}}};
  for (const auto& [padding, want] : cases) {
    SCOPED_TRACE(padding);
    const PrimitiveBuilder builder = PrimitiveBuilder("", "GridSample", 20)
                                         .Set("mode", std::string("cubic"))
                                         .Set("padding_mode", std::string(padding));
    const std::vector<Tensor> out = RunNode(
        MakeGridSample, builder, {Counting({1, 1, 4, 4}), TensorOf<float>({1, 1, 3, 2}, {-1, -1, 0, 0, 0.5f, 1.2f})});
    EXPECT_EQ(out[0].shape(), (Shape{1, 1, 1, 3}));
    ExpectFloats(out[0], want);
  }
}

TEST(GridSample, IntegersAreTakenAsTheyAre) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "GridSample", 20).Set("mode", std::string("nearest"));
  const int64_t large = INT64_MAX;
  const std::vector<Tensor> out = RunNode(
      MakeGridSample, builder,
      {TensorOf<int64_t>({1, 1, 1, 2}, {large, large - 1}), TensorOf<float>({1, 1, 2, 2}, {-0.5f, 0, 0.5f, 0})});
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (std::vector<int64_t>{large, large - 1}));
}

TEST(GridSample, PositionsOfEachTypeBesideImagesOfEach) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "GridSample", 20);
  const std::vector<float> at = {-0.5f, 0, 0, 0, 0.5f, 0};
  std::vector<Half> halves;
  std::vector<BFloat16> shorter;
  for (const float x : at) {
    halves.push_back(ToHalf(x));
    shorter.push_back(ToBFloat16(x));
  }
  const Shape shape = {1, 1, 3, 2}, image = {1, 1, 1, 2};
  for (const Tensor& grid :
       {TensorOf<float>(shape, at), TensorOf<double>(shape, std::vector<double>(at.begin(), at.end())),
        TensorOf<Half>(shape, halves), TensorOf<BFloat16>(shape, shorter)}) {
    SCOPED_TRACE(NameOf(grid.dtype()));
    ExpectFloats(RunNode(MakeGridSample, builder, {TensorOf<float>(image, {2, 4}), grid})[0], {2, 3, 4});
    EXPECT_EQ(ValuesOf<double>(RunNode(MakeGridSample, builder, {TensorOf<double>(image, {2, 4}), grid})[0]),
              (std::vector<double>{2, 3, 4}));
    EXPECT_EQ(ValuesOf<int16_t>(RunNode(MakeGridSample, builder, {TensorOf<int16_t>(image, {2, 4}), grid})[0]),
              (std::vector<int16_t>{2, 3, 4}));
    const Tensor of_halves =
        RunNode(MakeGridSample, builder, {TensorOf<Half>(image, {ToHalf(2.0f), ToHalf(4.0f)}), grid})[0];
    EXPECT_EQ(ToFloat(ValuesOf<Half>(of_halves)[1]), 3);
  }
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
