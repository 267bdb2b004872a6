// The plugin's own hyperbolic tangent.
#include "plugins/onednn/lowering/tanh.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Tanh, IsExactToAFewUnits) {
  std::vector<float> x = {0, -0.0f, kInf, -kInf, kNan, 1e-40f, 9.49f, 9.51f, -88, 3e38f};
  for (float magnitude = 1e-30f; magnitude < 20; magnitude *= 1.001f) x.insert(x.end(), {magnitude, -magnitude});
  std::vector<float> y(x.size());
  ComputeTanh(x.data(), y.data(), static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      EXPECT_TRUE(std::isnan(y[i]));
      continue;
    }
    const double wanted = std::tanh(static_cast<double>(x[i]));
    const float nearest = std::fabs(static_cast<float>(wanted));
    const double unit = static_cast<double>(std::nextafter(nearest, kInf) - nearest);
    EXPECT_LE(std::fabs(static_cast<double>(y[i]) - wanted), 4 * unit) << x[i];
    EXPECT_EQ(std::signbit(y[i]), std::signbit(x[i]));
  }
}

TEST(Tanh, EveryLengthIsComputedInPlace) {
  for (size_t count = 0; count < 40; ++count) {
    std::vector<float> x(count + 1, 0.5f);
    ComputeTanh(x.data(), x.data(), static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) ASSERT_NEAR(x[i], 0.46211716f, 1e-7f);
    ASSERT_EQ(x[count], 0.5f);
  }
}

TEST(Tanh, BehindAConvolutionAndBeforeAnAdditionIsTheSame) {
  Graph graph;
  const Dims map = {1, 5, 9, 9};
  const deputy_value_id x = graph.Input(map);
  const deputy_value_id conv = graph.Add("Conv", {x, graph.Constant({5, 5, 1, 1})}, map);
  const deputy_value_id tanh = graph.Add("Tanh", {conv}, map);
  graph.Output(graph.Add("Conv", {graph.Add("Add", {tanh, x}, map), graph.Constant({5, 5, 3, 3})}, {1, 5, 7, 7}));
  const std::vector<float> fused = graph.Run(true), plain = graph.Run(false);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(fused[i], plain[i], 1e-4f);
}

}  // namespace
}  // namespace onednn
