#include "cli/model_inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/element.hpp"

namespace deputy::cli {
namespace {

TensorInfo Info(const std::string& name, DType dtype, const Shape& shape, const std::vector<std::string>& dims) {
  TensorInfo info;
  info.name = name;
  info.dtype = dtype;
  info.shape = shape;
  info.dims = dims;
  return info;
}

std::vector<TensorInfo> ImageAndMask() {
  return {Info("image", DType::kFloat32, {-1, 3, -1}, {"batch", "3", "width"}),
          Info("mask", DType::kUint8, {-1, 8}, {"batch", "8"})};
}

TEST(ParseShapes, UnknownInputIsAnsweredWithTheNearest) {
  const auto refused = ParseShapes({"imgae=1x3x5"}, ImageAndMask());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().ToString().find("did you mean 'image'?"), std::string::npos);
}

TEST(ParseShapes, OtherRankIsRefused) { EXPECT_FALSE(ParseShapes({"image=1x3"}, ImageAndMask()).ok()); }

TEST(ParseShapes, OtherFixedExtentIsRefused) { EXPECT_FALSE(ParseShapes({"image=1x4x5"}, ImageAndMask()).ok()); }

TEST(ParseShapes, TwoShapesForOneInputAreRefused) {
  EXPECT_FALSE(ParseShapes({"image=1x3x5", "image=1x3x5"}, ImageAndMask()).ok());
}

TEST(CompleteShapes, SymbolCarriesOverToOtherInputs) {
  const KnownShapes known = ParseShapes({"image=7x3x5"}, ImageAndMask()).value();
  const CompletedShapes completed = CompleteShapes(ImageAndMask(), known).value();
  EXPECT_EQ(completed.shapes, (std::vector<Shape>{{7, 3, 5}, {7, 8}}));
  EXPECT_TRUE(completed.assumed.empty());
}

TEST(CompleteShapes, OpenExtentBecomesOneAndIsNamedOnce) {
  const CompletedShapes completed = CompleteShapes(ImageAndMask(), KnownShapes(2)).value();
  EXPECT_EQ(completed.shapes, (std::vector<Shape>{{1, 3, 1}, {1, 8}}));
  EXPECT_EQ(completed.assumed, (std::vector<std::string>{"batch", "width"}));
}

TEST(CompleteShapes, NamelessExtentsAreNotOneSymbol) {
  const std::vector<TensorInfo> inputs = {Info("a", DType::kFloat32, {-1, -1}, {"", ""})};
  EXPECT_EQ(CompleteShapes(inputs, KnownShapes(1)).value().assumed, (std::vector<std::string>{"a axis 0", "a axis 1"}));
}

TEST(CompleteShapes, InputOfAnyRankNeedsAShape) {
  std::vector<TensorInfo> inputs = {Info("a", DType::kFloat32, {}, {})};
  inputs[0].ranked = false;
  EXPECT_FALSE(CompleteShapes(inputs, KnownShapes(1)).ok());
  EXPECT_TRUE(CompleteShapes(inputs, KnownShapes{Shape{2, 2}}).ok());
}

TEST(RandomTensor, SameSeedGivesTheSameValues) {
  const Tensor a = RandomTensor(DType::kFloat32, {100}, 7).value(), b = RandomTensor(DType::kFloat32, {100}, 7).value();
  EXPECT_TRUE(std::equal(a.values<float>().begin(), a.values<float>().end(), b.values<float>().begin()));
}

TEST(RandomTensor, OtherSeedGivesOtherValues) {
  const Tensor a = RandomTensor(DType::kFloat32, {100}, 7).value(), b = RandomTensor(DType::kFloat32, {100}, 8).value();
  EXPECT_FALSE(std::equal(a.values<float>().begin(), a.values<float>().end(), b.values<float>().begin()));
}

class RandomTensorRange : public testing::TestWithParam<DType> {};

TEST_P(RandomTensorRange, StaysInsideAndIsNotConstant) {
  const Tensor tensor = RandomTensor(GetParam(), {1000}, 1).value();
  const double least = GetParam() == DType::kInt8 ? -128 : IsFloating(GetParam()) ? -1 : 0;
  const double most = GetParam() == DType::kInt8 ? 127 : GetParam() == DType::kUint8 ? 255 : 1;
  bool varies = false;
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(ElementAt(tensor, i), least);
    EXPECT_LE(ElementAt(tensor, i), most);
    varies = varies || ElementAt(tensor, i) != ElementAt(tensor, 0);
  }
  EXPECT_TRUE(varies);
}

INSTANTIATE_TEST_SUITE_P(DTypes, RandomTensorRange,
                         testing::Values(DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                                         DType::kUint8, DType::kInt8, DType::kInt32, DType::kInt64, DType::kBool));

TEST(RandomTensor, StringsAreNotMadeUp) {
  EXPECT_EQ(RandomTensor(DType::kString, {1}, 1).status().code(), StatusCode::kNotSupported);
}

TEST(BindInputs, RawFileTakesTheShapeOfTheFlag) {
  const std::string file = testing::TempDir() + "bind_inputs.raw";
  std::ofstream(file, std::ios::binary) << std::string(2 * 8, '\x05');
  const std::vector<TensorInfo> inputs = {ImageAndMask()[1]};
  const auto bound = BindInputs(inputs, {"mask=" + file}, {"mask=2x8"}, 1);
  std::filesystem::remove(file);
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  EXPECT_EQ(bound->inputs[0].tensor.shape(), (Shape{2, 8}));
  EXPECT_EQ(ElementAt(bound->inputs[0].tensor, 15), 5);
}

TEST(BindInputs, FileForAnUnknownInputIsRefused) {
  EXPECT_FALSE(BindInputs(ImageAndMask(), {"picture=a.npy"}, {}, 1).ok());
}

TEST(BindInputs, MissingFileIsRefused) { EXPECT_FALSE(BindInputs(ImageAndMask(), {"image=/nowhere.npy"}, {}, 1).ok()); }

}  // namespace
}  // namespace deputy::cli
