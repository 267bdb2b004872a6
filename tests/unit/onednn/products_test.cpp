// Products with packed constant matrices: every extent, division and post-op against plain sums in double.
#include "plugins/onednn/lowering/products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

struct Product {
  ProductShape shape;
  std::vector<float> left, right, bias, added;  // right: row-major

  explicit Product(const ProductShape& given) : shape(given) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> number(-1, 1);
    const auto fill = [&](std::vector<float>& values, int64_t count) {
      values.resize(static_cast<size_t>(count));
      for (float& value : values) value = number(random);
    };
    fill(left, (shape.rows - 1) * shape.left_step + shape.depth);
    fill(right, shape.depth * shape.columns);
    fill(bias, shape.columns);
    fill(added, shape.rows * shape.columns);
  }

  std::vector<float> Compute(int threads, OwnPostOps post_ops = {}, bool with_bias = true) const {
    const std::vector<float> panels = PackPanels(right.data(), shape.depth, shape.columns, shape.columns, 1);
    std::vector<float> y(added.size(), kNan);
    for (OwnPostOp& post_op : post_ops.all) post_op.added = added.data();
    MultiplyPanels(shape, {left.data(), panels.data(), with_bias ? bias.data() : nullptr, post_ops, y.data()}, threads);
    return y;
  }

  double SumAt(int64_t row, int64_t column) const {
    double sum = static_cast<double>(bias[static_cast<size_t>(column)]);
    for (int64_t d = 0; d < shape.depth; ++d)
      sum += static_cast<double>(left[static_cast<size_t>(row * shape.left_step + d)]) *
             static_cast<double>(right[static_cast<size_t>(d * shape.columns + column)]);
    return sum;
  }

  // function(sum, index of the output): the wanted output
  template <class F>
  void Expect(const std::vector<float>& y, F function) const {
    const double tolerance = 2e-6 * std::sqrt(static_cast<double>(shape.depth) + 1);
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t column = 0; column < shape.columns; ++column) {
        const size_t at = static_cast<size_t>(row * shape.columns + column);
        const double wanted = function(SumAt(row, column), at), made = static_cast<double>(y[at]);
        if (std::isfinite(wanted))
          ASSERT_NEAR(made, wanted, tolerance + 1e-6 * std::fabs(wanted)) << row << ", " << column;
        else
          ASSERT_TRUE(std::isnan(wanted) ? std::isnan(made) : made == wanted) << row << ", " << column << ": " << made;
      }
  }
  void ExpectPlainSums(const std::vector<float>& y) const {
    Expect(y, [](double sum, size_t) { return sum; });
  }
};

const ProductShape kFewRows = {7, 20, 24, 20};

TEST(Products, EveryExtentAndNumberOfThreadsGivesThePlainSums) {
  std::vector<ProductShape> shapes = {
      {1, 1, 8, 1},         {2, 385, 16, 385},  // one more than the depth of a block
      {97, 5, 40, 5},                           // two blocks of rows
      {200, 800, 8, 800},                       // three blocks of each, and a panel of one vector
      {5, 64, 1000, 64},    {13, 33, 32, 50},   // gaps between the rows on the left
      {193, 400, 136, 416},
  };
  for (int64_t rows = 1; rows < 20; ++rows) shapes.push_back({rows, 9, 48, 9});
  for (const ProductShape& shape : shapes) {
    const Product product(shape);
    const std::vector<float> alone = product.Compute(1);
    product.ExpectPlainSums(alone);
    for (const int threads : {2, 3, 16}) EXPECT_EQ(product.Compute(threads), alone);
  }
}

TEST(Products, WithoutABias) {
  Product product(kFewRows);
  const std::vector<float> y = product.Compute(1, {}, false);
  product.bias.assign(product.bias.size(), 0);
  product.ExpectPlainSums(y);
}

TEST(Products, PostOpsFollowInOrder) {
  using Kind = OwnPostOp::Kind;
  for (const ProductShape& shape : {kFewRows, ProductShape{30, 500, 40, 500}}) {
    const Product product(shape);
    const OwnPostOps post_ops = {
        {OwnPostOp{Kind::kRelu, 0.5f}, {Kind::kAdd}, {Kind::kGelu}, {Kind::kClip, -0.1f, 2.5f}}, 4};
    product.Expect(product.Compute(2, post_ops), [&](double sum, size_t at) {
      const double x = (sum < 0 ? sum / 2 : sum) + static_cast<double>(product.added[at]);
      return std::fmin(std::fmax(x / 2 * (1 + std::erf(x / std::sqrt(2.0))), static_cast<double>(-0.1f)), 2.5);
    });
  }
}

TEST(Products, AnInfinityOrNaNReachesOnlyItsRowOrColumn) {
  for (const float special : {kInf, -kInf, kNan, 3e38f}) {
    Product product(kFewRows);
    product.left[2 * 20 + 3] = special;
    product.ExpectPlainSums(product.Compute(1));
    product.left[2 * 20 + 3] = 0;
    product.right[5 * 24 + 9] = special;
    product.ExpectPlainSums(product.Compute(1));
  }
}

TEST(Products, GeluIsThatOfTheLibraryForEveryMagnitude) {
  std::vector<float> x = {0, -0.0f, 1e-40f, kInf, kNan, 3e38f, -3e38f};
  for (float magnitude = 1e-30f; magnitude < 100; magnitude *= 1.01f) x.insert(x.end(), {magnitude, -magnitude});
  x.resize((x.size() + 7) / 8 * 8);
  const int64_t count = static_cast<int64_t>(x.size());
  const std::vector<float> zeros(x.size());
  std::vector<float> y(x.size());
  const float one = 0;
  MultiplyPanels({1, 1, count, 1}, {&one, zeros.data(), x.data(), {{OwnPostOp{OwnPostOp::Kind::kGelu}}, 1}, y.data()},
                 1);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = static_cast<double>(x[i]);
    const double wanted = 0.5 * exact * (1 + std::erf(exact / std::sqrt(2.0)));
    if (std::isnan(wanted))
      EXPECT_TRUE(std::isnan(y[i])) << x[i];
    else if (std::isinf(wanted))
      EXPECT_EQ(y[i], kInf);
    else
      EXPECT_NEAR(static_cast<double>(y[i]), wanted,
                  4e-7 * std::fabs(std::fmin(std::fabs(exact), 5)) + 2e-7 * std::fabs(wanted))
          << x[i];
  }
}

TEST(Products, PackedColumnsMayBeRows) {
  const Product product({3, 400, 24, 400});
  std::vector<float> transposed(product.right.size());
  for (size_t d = 0; d < 400; ++d)
    for (size_t c = 0; c < 24; ++c) transposed[c * 400 + d] = product.right[d * 24 + c];
  EXPECT_EQ(PackPanels(transposed.data(), 400, 24, 1, 400), PackPanels(product.right.data(), 400, 24, 24, 1));
}

TEST(Products, OneRowOrRaggedColumnsDoNotSuitThem) {
  EXPECT_EQ(SuitsPanels(kFewRows), HasVectors());
  EXPECT_FALSE(SuitsPanels({1, 20, 24, 20}));
  EXPECT_FALSE(SuitsPanels({7, 20, 23, 20}));
  EXPECT_FALSE(SuitsPanels({7, 0, 24, 0}));
}

size_t ProductsIn(const Executable& executable) {
  size_t found = 0;
  for (const Step& step : executable.steps()) found += std::string(step.name) == "panels" ? 1 : 0;
  return found;
}

void ExpectSameOneByOne(const Graph& graph) {
  const std::vector<float> fused = graph.Run(), one_by_one = graph.Run(false, 2);
  ASSERT_EQ(fused.size(), one_by_one.size());
  for (size_t i = 0; i < fused.size(); ++i) ASSERT_NEAR(fused[i], one_by_one[i], 2e-5f) << i;
}

// Two products with bias, post-ops that they compute and one that they do not, and a residual connection.
TEST(Products, AreUsedForConstantMatrices) {
  Graph graph;
  const Dims narrow = {2, 5, 16}, wide = {2, 5, 32};
  const deputy_value_id x = graph.Input(narrow);
  const auto biased = [&](deputy_value_id from, int64_t rows, int64_t columns, const Dims& dims) {
    const deputy_value_id product = graph.Add("MatMul", {from, graph.Constant({rows, columns})}, dims);
    return graph.Add("Add", {product, graph.Constant({columns})}, dims);
  };
  const deputy_value_id first = graph.Add("Elu", {graph.Add("Relu", {biased(x, 16, 32, wide)}, wide)}, wide);
  graph.Output(graph.Add("Add", {biased(first, 32, 16, narrow), x}, narrow));
  EXPECT_EQ(ProductsIn(*graph.Compile()), HasVectors() ? 2u : 0u);
  ExpectSameOneByOne(graph);
}

TEST(Products, AreUsedForTransposedWeightsOfGemm) {
  Graph graph;
  const deputy_value_id x = graph.Input({6, 20});
  graph.Output(graph.Add("Gemm", {x, graph.Constant({24, 20}), graph.Constant({24})}, {6, 24},
                         [](fake::PrimitiveBytes& p) { p.Int("transB", 1); }));
  EXPECT_EQ(ProductsIn(*graph.Compile()), HasVectors() ? 1u : 0u);
  ExpectSameOneByOne(graph);
}

TEST(Products, ReadATransposedMatrixThroughOneDnn) {
  Graph graph;
  const deputy_value_id x = graph.Input({20, 6});
  const deputy_value_id turned = graph.Add("Transpose", {x}, {6, 20}, [](fake::PrimitiveBytes& p) {
    p.Ints("perm", {1, 0});
  });
  graph.Output(graph.Add("MatMul", {turned, graph.Constant({20, 16})}, {6, 16}));
  EXPECT_EQ(ProductsIn(*graph.Compile()), 0u);
  ExpectSameOneByOne(graph);
}

TEST(Products, ABatchOfConstantMatricesIsNoPanel) {
  Graph graph;
  const deputy_value_id x = graph.Input({3, 4, 8});
  graph.Output(graph.Add("MatMul", {x, graph.Constant({3, 8, 16})}, {3, 4, 16}));
  EXPECT_EQ(ProductsIn(*graph.Compile()), 0u);
  ExpectSameOneByOne(graph);
}

}  // namespace
}  // namespace onednn
