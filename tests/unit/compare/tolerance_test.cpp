// Which tolerance an output of a model has by default.
#include <gtest/gtest.h>

#include "compare/traits.hpp"

namespace deputy::host {
namespace {

ModelTraits Nodes(size_t count, const char* op_type) {
  ModelTraits model;
  for (size_t i = 0; i < count; ++i) AddNode("", op_type, "", model);
  return model;
}

TEST(ToleranceTest, OneOperatorIsNoNetwork) {
  const ModelTraits model = Nodes(1, "Conv");
  EXPECT_FALSE(model.is_network());
  EXPECT_EQ(ToleranceFor({}, DType::kFloat32, model).atol_scale, 1e-6);
  EXPECT_EQ(ToleranceFor({}, DType::kInt32, model).atol_scale, 0);
}

TEST(ToleranceTest, RoundingAddsUpInANetwork) {
  const ModelTraits model = Nodes(11, "Conv");
  EXPECT_TRUE(model.is_network());
  EXPECT_FALSE(model.quantized);
  EXPECT_EQ(ToleranceFor({}, DType::kFloat32, model).atol_scale, 1e-5);
  EXPECT_EQ(ToleranceFor({}, DType::kInt64, model).atol_scale, 0);
}

TEST(ToleranceTest, ANodeThatDrawsNumbersIsNamed) {
  ModelTraits model = Nodes(2, "Add");
  EXPECT_EQ(model.drawing, "");
  AddNode("", "RandomNormalLike", "noise", model);
  EXPECT_EQ(model.drawing, "noise (RandomNormalLike)");
}

TEST(ToleranceTest, HalvesAreCoarser) {
  EXPECT_EQ(ToleranceFor({}, DType::kFloat16, {}).rtol, 1e-2);
  EXPECT_EQ(ToleranceFor({}, DType::kFloat32, {}).rtol, 1e-3);
}

TEST(ToleranceTest, QuantizedModelsMayBeAStepOff) {
  const ModelTraits model = Nodes(1, "QuantizeLinear");
  EXPECT_TRUE(model.quantized);
  EXPECT_EQ(ToleranceFor({}, DType::kInt8, model).step, 1);
  EXPECT_EQ(ToleranceFor({}, DType::kInt8, model).outliers, 1e-2);
  EXPECT_EQ(ToleranceFor({}, DType::kInt32, model).step, 0);
}

TEST(ToleranceTest, FlagsGoFirst) {
  const Tolerance tolerance = ToleranceFor({0.5, 0.25, 0.125, 0.0625}, DType::kFloat16, {20, true, ""});
  EXPECT_EQ(tolerance.rtol, 0.5);
  EXPECT_EQ(tolerance.atol, 0.25);
  EXPECT_EQ(tolerance.atol_scale, 0.125);
  EXPECT_EQ(tolerance.outliers, 0.0625);
}

}  // namespace
}  // namespace deputy::host
