// ImageScaler and Crop, each as a node would run. Expected numbers are those of ONNX Runtime 1.32.
#include <limits>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

PrimitiveBuilder Scaler(const std::vector<float>& bias) {
  return PrimitiveBuilder("", "ImageScaler", 1).Set("scale", 2.0f).Set("bias", bias);
}
PrimitiveBuilder Crop(const std::vector<int64_t>& border) {
  return PrimitiveBuilder("", "Crop", 1).Set("border", border);
}

TEST(ImageScaler, OtherNumberOfBiasesIsRefused) {
  for (const bool hide : {false, true})
    EXPECT_FALSE(TryRunNode(MakeImageScaler, Scaler({1}), {Counting({1, 2, 1, 2})}, {.hide_shapes = hide}).ok());
}

TEST(Crop, BorderIsLeftTopRightBottom) {
  const std::vector<Tensor> out = RunNode(MakeCrop, Crop({1, 0, 1, 1}), {Counting({1, 2, 3, 4})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 2, 2}));
  ExpectFloats(out[0], {1, 2, 5, 6, 13, 14, 17, 18});
}

TEST(Crop, ScaleIsTheSizeFromTheUpperLeftCorner) {
  const PrimitiveBuilder builder = Crop({1, 1, 9, 9}).Set("scale", std::vector<int64_t>{2, 3});
  const std::vector<Tensor> out = RunNode(MakeCrop, builder, {Counting({1, 1, 3, 4})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 2, 3}));
  ExpectFloats(out[0], {5, 6, 7, 9, 10, 11});
}

TEST(Crop, NothingMayBeLeft) {
  EXPECT_EQ(RunNode(MakeCrop, Crop({2, 1, 2, 1}), {Counting({1, 2, 3, 4})})[0].shape(), (Shape{1, 2, 1, 0}));
}

TEST(Crop, MoreThanThereIsIsRefused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const bool hide : {false, true}) {
    const RunNodeOptions options{.hide_shapes = hide};
    for (const std::vector<int64_t>& border :
         std::vector<std::vector<int64_t>>{{2, 0, 3, 0}, {0, 4, 0, 0}, {kMost, 0, kMost, 0}, {0, 0, 0, kMost}})
      EXPECT_FALSE(TryRunNode(MakeCrop, Crop(border), {Counting({1, 1, 3, 4})}, options).ok());
    for (const std::vector<int64_t>& size : std::vector<std::vector<int64_t>>{{3, 4}, {4, 1}, {kMost, kMost}})
      EXPECT_FALSE(TryRunNode(MakeCrop, Crop({1, 0, 0, 0}).Set("scale", size), {Counting({1, 1, 3, 4})}, options).ok());
  }
}

TEST(Crop, BorderOfAnotherFormIsRefused) {
  for (const std::vector<int64_t>& border :
       std::vector<std::vector<int64_t>>{{}, {1, 1, 1}, {1, 1, 1, 1, 1}, {-1, 0, 0, 0}})
    EXPECT_FALSE(TryRunNode(MakeCrop, Crop(border), {Counting({1, 1, 3, 4})}).ok());
  for (const std::vector<int64_t>& size : std::vector<std::vector<int64_t>>{{1}, {1, -1}})
    EXPECT_FALSE(TryRunNode(MakeCrop, Crop({0, 0, 0, 0}).Set("scale", size), {Counting({1, 1, 3, 4})}).ok());
}

}  // namespace
}  // namespace deputy::host
