#include "cli/inputs/model_inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/inputs/element.hpp"

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

TEST(CompleteShapes, ALeadingBatchBecomesOneAndIsNamedOnce) {
  const KnownShapes known = ParseShapes({"image=7x3x5"}, ImageAndMask()).value();
  EXPECT_TRUE(CompleteShapes(ImageAndMask(), known).value().assumed.empty());
  std::vector<TensorInfo> inputs = ImageAndMask();
  inputs[0].shape[2] = 5;
  const CompletedShapes completed = CompleteShapes(inputs, KnownShapes(2)).value();
  EXPECT_EQ(completed.shapes, (std::vector<Shape>{{1, 3, 5}, {1, 8}}));
  EXPECT_EQ(completed.assumed, "assuming batch=1; override with --shape image=1x3x5");
}

TEST(CompleteShapes, OtherOpenExtentsNeedAShape) {
  const auto refused = CompleteShapes(ImageAndMask(), KnownShapes(2));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("'image' float32 [batch,3,width]"), std::string::npos);
  EXPECT_EQ(refused.status().message().find("'mask'"), std::string::npos) << "which is open no more";
  EXPECT_NE(refused.status().advice().find("--shape image=1x3x?"), std::string::npos) << refused.status().ToString();
}

TEST(CompleteShapes, ABatchOfAnotherNameIsAssumedBesideIt) {
  const std::vector<TensorInfo> inputs = {Info("a", DType::kFloat32, {-1, 2}, {"n", "2"}),
                                          Info("b", DType::kFloat32, {-1}, {"?"})};
  EXPECT_EQ(CompleteShapes(inputs, KnownShapes(2)).value().assumed,
            "assuming n=1, b[0]=1; override with --shape a=1x2 --shape b=1");
}

TEST(CompleteShapes, ABatchThatStandsElsewhereTooIsOneThere) {
  const std::vector<TensorInfo> inputs = {Info("mask", DType::kFloat32, {4, -1}, {"4", "batch"}),
                                          Info("x", DType::kFloat32, {-1, 2}, {"batch", "2"})};
  EXPECT_EQ(CompleteShapes(inputs, KnownShapes(2)).value().shapes, (std::vector<Shape>{{4, 1}, {1, 2}}));
}

TEST(CompleteShapes, NamelessExtentsAreNotOneSymbol) {
  const std::vector<TensorInfo> inputs = {Info("a", DType::kFloat32, {-1, -1}, {"", ""})};
  EXPECT_FALSE(CompleteShapes(inputs, KnownShapes(1)).ok());
}

TEST(CompleteShapes, OfManyOpenInputsAFewAreListed) {
  std::vector<TensorInfo> inputs;
  for (int i = 0; i < 100; ++i)
    inputs.push_back(Info("past." + std::to_string(i), DType::kFloat32, {1, -1}, {"", "p"}));
  const auto refused = CompleteShapes(inputs, KnownShapes(100));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("and 96 more"), std::string::npos) << refused.status().ToString();
}

TEST(CompleteShapes, InputOfAnyRankNeedsAShape) {
  std::vector<TensorInfo> inputs = {Info("a", DType::kFloat32, {}, {})};
  inputs[0].ranked = false;
  EXPECT_FALSE(CompleteShapes(inputs, KnownShapes(1)).ok());
  EXPECT_TRUE(CompleteShapes(inputs, KnownShapes{Shape{2, 2}}).ok());
}

TEST(PropagateExtents, WhatNobodyGivesStaysOpen) {
  const KnownShapes carried = PropagateExtents(ImageAndMask(), {std::nullopt, Shape{7, 8}});
  EXPECT_EQ(carried, (KnownShapes{Shape{7, 3, -1}, Shape{7, 8}}));
}

TEST(WithAssumed, AnErrorNamesWhatWasAssumed) {
  const Status status = Status(StatusCode::kModel, "does not fit").At("node").Advise("make it fit");
  EXPECT_EQ(WithAssumed(status, "assuming batch=1").ToString(), "node: does not fit; make it fit; assuming batch=1");
  EXPECT_EQ(WithAssumed(status, "").ToString(), status.ToString());
  EXPECT_TRUE(WithAssumed(Status(), "assuming batch=1").ok());
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
  const auto bound = BindInputs(inputs, {{"mask=" + file}}, {"mask=2x8"}, 1);
  std::filesystem::remove(file);
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  EXPECT_EQ(bound->inputs[0].tensor.shape(), (Shape{2, 8}));
  EXPECT_EQ(ElementAt(bound->inputs[0].tensor, 15), 5);
}

TEST(BindInputs, FileForAnUnknownInputIsRefused) {
  EXPECT_FALSE(BindInputs(ImageAndMask(), {{"picture=a.npy"}}, {}, 1).ok());
}

TEST(BindInputs, MissingFileIsRefused) {
  EXPECT_FALSE(BindInputs(ImageAndMask(), {{"image=/nowhere.npy"}}, {}, 1).ok());
}

}  // namespace
}  // namespace deputy::cli
