// Winograd's minimal filtering: every extent, division and post-op against plain sums in double.
#include "plugins/onednn/lowering/winograd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

struct Layer {
  WinogradShape shape;
  std::vector<float> x, weights, bias, added;  // added: in the layout of the result

  explicit Layer(const WinogradShape& given) : shape(given) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> number(-1, 1);
    const auto fill = [&](std::vector<float>& values, int64_t count) {
      values.resize(static_cast<size_t>(count));
      for (float& value : values) value = number(random);
    };
    fill(x, shape.images * shape.channels * shape.in[0] * shape.in[1]);
    fill(weights, shape.filters * shape.channels * 9);
    fill(bias, shape.filters);
    fill(added, shape.images * shape.filters * shape.out[0] * shape.out[1]);
  }

  // An element in blocks of 8 channels.
  static size_t At(int64_t image, int64_t channel, int64_t channels, const int64_t* extents, int64_t row,
                   int64_t column) {
    const int64_t block = image * (channels / 8) + channel / 8;
    return static_cast<size_t>(((block * extents[0] + row) * extents[1] + column) * 8 + channel % 8);
  }
  float& InputAt(int64_t channel, int64_t row, int64_t column) {
    return x[At(0, channel, shape.channels, shape.in, row, column)];
  }

  std::vector<float> Compute(int threads, OwnPostOps post_ops = {}, bool with_bias = true) const {
    const std::vector<float> transformed = TransformWeights(weights.data(), shape.filters, shape.channels);
    std::vector<float> y(added.size(), -99), scratch(static_cast<size_t>(WinogradScratch(shape, threads)), kNan);
    for (OwnPostOp& post_op : post_ops.all) post_op.added = added.data();
    ConvolveWinograd(shape,
                     {x.data(), transformed.data(), weights.data(), with_bias ? bias.data() : nullptr, post_ops,
                      y.data(), scratch.data()},
                     threads);
    return y;
  }

  // fn(index of the output, its plain sum with the bias)
  template <class F>
  void ForEach(F fn) const {
    for (int64_t n = 0; n < shape.images; ++n)
      for (int64_t f = 0; f < shape.filters; ++f)
        for (int64_t row = 0; row < shape.out[0]; ++row)
          for (int64_t column = 0; column < shape.out[1]; ++column) {
            double sum = static_cast<double>(bias[static_cast<size_t>(f)]);
            for (int64_t c = 0; c < shape.channels; ++c)
              for (int64_t t = 0; t < 9; ++t) {
                const int64_t i = row + t / 3 - shape.pads[0], j = column + t % 3 - shape.pads[1];
                if (i >= 0 && i < shape.in[0] && j >= 0 && j < shape.in[1])
                  sum += static_cast<double>(x[At(n, c, shape.channels, shape.in, i, j)]) *
                         static_cast<double>(weights[static_cast<size_t>((f * shape.channels + c) * 9 + t)]);
              }
            fn(At(n, f, shape.filters, shape.out, row, column), sum);
          }
  }

  void ExpectPlainSums(const std::vector<float>& y, double largest = 1) const {  // product of an input and a weight
    const double tolerance = 2e-6 * largest * std::sqrt(9.0 * static_cast<double>(shape.channels));
    ForEach([&](size_t at, double sum) {
      if (std::isfinite(sum))
        ASSERT_NEAR(static_cast<double>(y[at]), sum, tolerance + 1e-6 * std::fabs(sum)) << at;
      else
        ASSERT_TRUE(std::isnan(sum) ? std::isnan(y[at]) : static_cast<double>(y[at]) == sum) << at << ": " << y[at];
    });
  }
};

const WinogradShape kSmall = {1, 16, 24, {9, 11}, {9, 11}, {1, 1}};

TEST(Winograd, EveryExtentAndNumberOfThreadsGivesThePlainSums) {
  const WinogradShape shapes[] = {
      kSmall,
      {2, 24, 72, {6, 30}, {6, 30}, {1, 1}},    // a second group of filters with one vector
      {1, 264, 16, {8, 8}, {8, 8}, {1, 1}},     // more channels than a panel has
      {3, 16, 136, {5, 4}, {5, 4}, {1, 1}},     // a group that ends with half a panel
      {1, 16, 16, {7, 12}, {5, 10}, {0, 0}},    // no padding
      {1, 16, 16, {6, 6}, {9, 7}, {3, 2}},      // as much as the window, and more behind
      {1, 16, 16, {12, 9}, {11, 9}, {0, 2}},    // uneven
      {1, 32, 32, {40, 50}, {40, 50}, {1, 1}},  // several blocks of tiles
      {1, 16, 256, {4, 4}, {4, 4}, {1, 1}},     // so few tiles that threads take filters
  };
  for (const WinogradShape& shape : shapes) {
    const Layer layer(shape);
    const std::vector<float> alone = layer.Compute(1);
    layer.ExpectPlainSums(alone);
    for (const int threads : {2, 3}) EXPECT_EQ(layer.Compute(threads), alone);
  }
}

TEST(Winograd, WithoutABias) {
  Layer layer(kSmall);
  const std::vector<float> y = layer.Compute(1, {}, false);
  layer.bias.assign(layer.bias.size(), 0);
  layer.ExpectPlainSums(y);
}

TEST(Winograd, PostOpsFollowInOrder) {
  using Kind = OwnPostOp::Kind;
  const Layer layer(kSmall);
  OwnPostOps post_ops;
  for (const OwnPostOp& post_op :
       {OwnPostOp{Kind::kRelu, 0.5f}, OwnPostOp{Kind::kAdd}, OwnPostOp{Kind::kClip, -0.75f, 2.5f}})
    post_ops.all[post_ops.count++] = post_op;
  const std::vector<float> y = layer.Compute(1, post_ops);
  layer.ForEach([&](size_t at, double sum) {
    const double wanted = (sum < 0 ? sum / 2 : sum) + static_cast<double>(layer.added[at]);
    ASSERT_NEAR(static_cast<double>(y[at]), std::fmin(std::fmax(wanted, -0.75), 2.5), 1e-4) << at;
  });
}

TEST(Winograd, AnInfinityOrNaNReachesOnlyTheOutputsThatReadIt) {
  for (const float special : {kInf, -kInf, kNan, 3e38f}) {
    Layer layer(kSmall);
    layer.InputAt(5, 4, 6) = special;
    layer.ExpectPlainSums(layer.Compute(1));
    layer.ExpectPlainSums(layer.Compute(2));
  }
}

TEST(Winograd, NaNPassesReluAndClip) {
  using Kind = OwnPostOp::Kind;
  for (const OwnPostOp& post_op : {OwnPostOp{Kind::kRelu}, OwnPostOp{Kind::kClip, 0, 6}}) {
    Layer layer(kSmall);
    layer.InputAt(0, 0, 0) = kNan;
    EXPECT_TRUE(std::isnan(layer.Compute(1, {{post_op}, 1})[0]));
  }
}

TEST(Winograd, WeightsThatAreNotFiniteOrOverflowGiveThePlainSums) {
  for (const float special : {kInf, kNan, 2e38f}) {
    Layer layer(kSmall);
    layer.weights[40] = special;
    layer.ExpectPlainSums(layer.Compute(1), std::isfinite(special) ? 2e38 : 1);
  }
}

TEST(Winograd, FewChannelsOrRowsDoNotSuitIt) {
  EXPECT_TRUE(SuitsWinograd(kSmall));
  EXPECT_FALSE(SuitsWinograd({1, 8, 24, {9, 11}, {9, 11}, {1, 1}}));
  EXPECT_FALSE(SuitsWinograd({1, 20, 24, {9, 11}, {9, 11}, {1, 1}}));
  EXPECT_FALSE(SuitsWinograd({1, 16, 24, {1, 11}, {1, 11}, {1, 1}}));
}

// Of a convolution on 16 channels with 3 x 3 taps and one post-op that the filtering lacks.
TEST(Winograd, IsUsedWhereOneDnnHasNone) {
  Graph graph;
  const Dims map = {1, 16, 12, 12};
  const deputy_value_id x = graph.Input(map);
  const deputy_value_id y =
      graph.Add("Conv", {x, graph.Constant({16, 16, 3, 3}), graph.Constant({16})}, map, [](fake::PrimitiveBytes& p) {
        p.Ints("pads", {1, 1, 1, 1});
      });
  const deputy_value_id sum = graph.Add("Add", {graph.Add("Relu", {y}, map), x}, map);
  graph.Output(
      graph.Add("Elu", {graph.Add("Clip", {sum, graph.Constant({}, {-1}), graph.Constant({}, {1})}, map)}, map));
  const std::unique_ptr<Executable> executable = graph.Compile();
  size_t found = 0;
  for (const Step& step : executable->steps()) found += std::string(step.name) == "winograd" ? 1 : 0;
  EXPECT_EQ(found, HasVectors() ? 1u : 0u);
  const std::vector<float> fused = graph.Run(), one_by_one = graph.Run(false, 2);
  ASSERT_EQ(fused.size(), one_by_one.size());
  for (size_t i = 0; i < fused.size(); ++i) ASSERT_NEAR(fused[i], one_by_one[i], 1e-5f) << i;
}

}  // namespace
}  // namespace onednn
