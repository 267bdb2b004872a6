#include "verify/noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "deputy/element.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

Tensor Floats(const std::vector<float>& values) {
  return Tensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())}, values).value();
}
Tensor Doubles(const std::vector<double>& values) {
  return Tensor::FromValues<double>(DType::kFloat64, {static_cast<int64_t>(values.size())}, values).value();
}
Tensor Integers(const std::vector<int64_t>& values) {
  return Tensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())}, values).value();
}

TEST(Noise, ADisturbanceIsAFewUnitsInTheLastPlace) {
  const std::vector<float> values = {1, -3.5F, 1e-30F, 65504};
  const Tensor before = Floats(values), after = *Disturbed(before, 7);
  for (size_t i = 0; i < values.size(); ++i) {
    const float moved = after.values<float>()[i];
    EXPECT_NE(moved, values[i]);
    EXPECT_NEAR(moved, values[i], 1.001F * kDisturbance * 0x1p-23F * std::fabs(values[i])) << i;
  }
  EXPECT_EQ(before.values<float>()[0], 1) << "the original is not changed";
}

TEST(Noise, ZerosInfinitiesAndNaNsAreNotDisturbed) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor after = *Disturbed(Floats({0, -0.0F, kInf, std::numeric_limits<float>::max()}), 1);
  EXPECT_EQ(after.values<float>()[0], 0);
  EXPECT_EQ(after.values<float>()[2], kInf);
  EXPECT_TRUE(std::isfinite(after.values<float>()[3]));
}

TEST(Noise, IntegersAreNotDisturbed) {
  const Tensor integers = Integers({1, 2});
  EXPECT_EQ(Disturbed(integers, 1)->data(), integers.data());
}

TEST(Noise, SeedsDisturbDifferently) {
  const std::vector<float> many(64, 1);
  const Tensor one = *Disturbed(Floats(many), 1), other = *Disturbed(Floats(many), 2);
  EXPECT_FALSE(CompareTensors(one, other, {0, 0}).ok);
}

TEST(Noise, AnErrorOfTheReferenceExplainsAsLargeADifference) {
  const Tensor reference = Floats({1.02F, 5}), got = Floats({0.99F, 5});
  EXPECT_FALSE(IsNoise(got, reference, {}, {}));
  EXPECT_TRUE(IsNoise(got, reference, {Doubles({1.0, 5}), {}}, {}));
  EXPECT_FALSE(IsNoise(Floats({3, 5}), reference, {Doubles({1.0, 5}), {}}, {}));
}

TEST(Noise, WhatIsExactIsRightEvenWhereTheReferenceIsNot) {
  EXPECT_TRUE(IsNoise(Floats({1}), Floats({1.5F}), {Doubles({1}), {}}, {}));
}

// The lowest number of float64 is far from that of float32.
TEST(Noise, R207_LimitsOfATypeExplainNothing) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  constexpr double kLowestExact = std::numeric_limits<double>::lowest();
  const Tensor reference = Floats({kLowest, 5});
  const Evidence evidence = {Doubles({kLowestExact, 5}), {Floats({kLowest, 5})}};
  EXPECT_FALSE(IsNoise(Floats({kLowest, 42}), reference, evidence, {}));
  EXPECT_FALSE(IsNoise(Floats({42, 5}), reference, evidence, {}));
  EXPECT_FALSE(IsNoise(Floats({-std::numeric_limits<float>::infinity(), 5}), reference, evidence, {}));
  EXPECT_TRUE(IsNoise(Floats({kLowest, 5.001F}), reference, {Doubles({kLowestExact, 5.001}), {}}, {}));
}

TEST(Noise, ADisturbanceExplainsAsLargeADifference) {
  const Tensor reference = Floats({1, 5}), got = Floats({1.1F, 5});
  EXPECT_TRUE(IsNoise(got, reference, {std::nullopt, {Floats({1.06F, 5})}}, {}));
  EXPECT_FALSE(IsNoise(got, reference, {std::nullopt, {Floats({1.0001F, 5})}}, {}));
}

TEST(Noise, EitherEvidenceSuffices) {
  const Tensor reference = Floats({1, 5}), got = Floats({1.1F, 5});
  EXPECT_TRUE(IsNoise(got, reference, {Doubles({1, 5}), {Floats({1.06F, 5})}}, {}));
  EXPECT_TRUE(IsNoise(got, reference, {Doubles({1.05, 5}), {Floats({1, 5})}}, {}));
  EXPECT_FALSE(IsNoise(got, reference, {Doubles({1, 5}), {Floats({1, 5})}}, {}));
}

TEST(Noise, AQuantizedNumberMayDifferAsMuchAsADisturbanceChangesOthers) {
  const auto bytes = [](const std::vector<int8_t>& values) {
    return Tensor::FromValues<int8_t>(DType::kInt8, {static_cast<int64_t>(values.size())}, values).value();
  };
  const Tensor reference = bytes({10, 20, 30}), got = bytes({12, 20, 30});
  EXPECT_TRUE(IsNoise(got, reference, {std::nullopt, {bytes({10, 21, 30})}}, {}));
  EXPECT_FALSE(IsNoise(bytes({14, 20, 30}), reference, {std::nullopt, {bytes({10, 21, 30})}}, {}));
  EXPECT_FALSE(IsNoise(got, reference, {std::nullopt, {reference}}, {}));
}

TEST(Noise, ConstantsAreDisturbedButThoseOfExtents) {
  TestGraph made({DType::kFloat32, true, {2}});
  made.Input("x").Node("z", "Mul", {"x", "c"}).Node("y", "Resize", {"z", "", "s"}).Output("y");
  for (const char* name : {"c", "s"}) made.graph.values[made.Value(name)].constant = Floats({1, 2});
  const Graph disturbed = WithDisturbedConstants(made.graph, 1);
  const auto first = [&](const Graph& graph, const char* name) {
    return graph.values[made.Value(name)].constant.values<float>()[0];
  };
  EXPECT_NE(first(disturbed, "c"), 1);
  EXPECT_EQ(first(disturbed, "s"), 1);
  EXPECT_EQ(first(made.graph, "c"), 1) << "the original is not changed";
}

TEST(Noise, AnIntegerMayDifferWhereADisturbanceChangesIt) {
  const Tensor reference = Integers({3, 4}), got = Integers({2, 4});
  EXPECT_FALSE(IsNoise(got, reference, {}, {}));
  EXPECT_TRUE(IsNoise(got, reference, {std::nullopt, {Integers({2, 4})}}, {}));
  EXPECT_FALSE(IsNoise(got, reference, {std::nullopt, {Integers({3, 5})}}, {}));
  EXPECT_TRUE(IsNoise(got, reference, {Integers({2, 4}), {}}, {}));
}

TEST(Noise, AGraphIsWidenedWithItsConstantsAndTypeAttributes) {
  TestGraph made({DType::kFloat32, true, {2}});
  made.Input("x").Node("z", "Add", {"x", "c"}).Node("y", "Cast", {"z"}).Output("y");
  made.graph.values[made.Value("c")].constant = Floats({1, 2});
  Primitive& cast = made.graph.nodes[1].primitive;
  cast = PrimitiveBuilder(cast).Set("to", static_cast<int64_t>(DType::kFloat32)).Finish();
  const std::optional<Graph> wide = WithFloat64(made.graph);
  ASSERT_TRUE(wide);
  for (const Value& value : wide->values) EXPECT_EQ(value.type.dtype, DType::kFloat64);
  EXPECT_EQ(wide->values[made.Value("c")].constant.values<double>()[1], 2);
  EXPECT_EQ(wide->nodes[1].primitive.GetInt("to", 0), static_cast<int64_t>(DType::kFloat64));
  EXPECT_EQ(made.graph.values[made.Value("c")].constant.dtype(), DType::kFloat32) << "the original is not changed";
}

}  // namespace
}  // namespace deputy::host
