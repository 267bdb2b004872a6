// The operators that draw numbers: their moments, their ranges, their seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kMany = 40'000;

PrimitiveBuilder Normal() { return PrimitiveBuilder("", "RandomNormal", 1).Set("shape", std::vector<int64_t>{kMany}); }

double Mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(RandomNormal, HasTheMomentsThatWereAskedFor) {
  const std::vector<Tensor> out =
      RunNode(MakeRandomNormal, Normal().Set("mean", 3.0f).Set("scale", 2.0f).Set("seed", 1.0f), {});
  const std::vector<float> values = ValuesOf<float>(out[0]);
  const double mean = Mean(values);
  double variance = 0;
  for (const float value : values) variance += (double{value} - mean) * (double{value} - mean) / double{kMany};
  EXPECT_NEAR(mean, 3, 0.05);
  EXPECT_NEAR(std::sqrt(variance), 2, 0.05);
}

TEST(RandomNormal, ASeedGivesTheSameNumbersAndNoneGivesOthers) {
  const auto draw = [](const PrimitiveBuilder& builder) {
    return ValuesOf<float>(RunNode(MakeRandomNormal, builder, {})[0]);
  };
  EXPECT_EQ(draw(Normal().Set("seed", 7.0f)), draw(Normal().Set("seed", 7.0f)));
  EXPECT_NE(draw(Normal().Set("seed", 7.0f)), draw(Normal().Set("seed", 8.0f)));
  EXPECT_NE(draw(Normal()), draw(Normal()));
}

TEST(RandomUniformLike, StaysBetweenItsBounds) {
  const std::vector<Tensor> out =
      RunNode(MakeRandomUniformLike, PrimitiveBuilder("", "RandomUniformLike", 1).Set("low", -1.0f).Set("high", 3.0f),
              {*Tensor::Allocate(DType::kFloat32, {kMany})});
  const std::vector<float> values = ValuesOf<float>(out[0]);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 3);
  EXPECT_NEAR(Mean(values), 1, 0.05);
}

TEST(Bernoulli, ChancesOfNoneAndAllAreCertain) {
  const std::vector<Tensor> out =
      RunNode(MakeBernoulli, PrimitiveBuilder("", "Bernoulli", 15), {TensorOf<float>({4}, {0, 1, 0, 1})});
  EXPECT_EQ(ValuesOf<float>(out[0]), (std::vector<float>{0, 1, 0, 1}));
}

TEST(Multinomial, DrawsClassesAsOftenAsTheirShare) {
  const std::vector<Tensor> out =
      RunNode(MakeMultinomial, PrimitiveBuilder("", "Multinomial", 7).Set("sample_size", kMany).Set("seed", 3.0f),
              {TensorOf<float>({1, 3}, {std::log(1.0f), std::log(2.0f), std::log(5.0f)})});
  std::array<double, 3> share = {};
  for (const int32_t drawn : ValuesOf<int32_t>(out[0])) share.at(static_cast<size_t>(drawn)) += 1 / double{kMany};
  EXPECT_NEAR(share[0], 0.125, 0.01);
  EXPECT_NEAR(share[1], 0.25, 0.01);
  EXPECT_NEAR(share[2], 0.625, 0.01);
}

}  // namespace
}  // namespace deputy::host
