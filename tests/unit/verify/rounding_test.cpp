#include "verify/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

Tensor Floats(Shape shape, const std::vector<float>& values) {
  return Tensor::FromValues<float>(DType::kFloat32, std::move(shape), values).value();
}
Tensor Zeros(Shape shape) { return Tensor::Allocate(DType::kFloat32, std::move(shape)).value(); }

// A sum of products in another order than the exact one: one after the other, in float32.
struct Sum {
  float sequential = 0;
  double exact = 0, squares = 0;
};
Sum SumOf(const std::vector<float>& terms) {
  Sum sum;
  for (const float term : terms) {
    sum.sequential += term;
    sum.exact += term;
    sum.squares += static_cast<double>(term) * term;
  }
  return sum;
}

// Terms around a mean near one.
std::vector<float> Terms(size_t count, float mean, float deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean + static_cast<float>(seed) / 1000, deviation);
  std::vector<float> terms(count);
  for (float& term : terms) term = normal(random);
  return terms;
}

// Of many sums the largest error that `RoundDifferently` makes, in four runs, beside the largest that an engine makes.
TEST(Rounding, ErrorsOfASumAreThoseOfAnotherOrder) {
  constexpr size_t kSums = 200;
  for (const size_t count : {16, 512, 4096})
    for (const auto& [mean, deviation] : {std::pair(0.0F, 1.0F), {1.0F, 1.0F}, {-30.0F, 1.0F}, {0.7F, 0.0F}}) {
      std::vector<float> exact, squares;
      double largest = 0;
      for (uint32_t i = 0; i < kSums; ++i) {
        const Sum sum = SumOf(Terms(count, mean, deviation, i));
        exact.push_back(static_cast<float>(sum.exact));
        squares.push_back(static_cast<float>(sum.squares));
        largest = std::max(largest, std::fabs(sum.sequential - sum.exact));
      }
      double made = 0;
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        Tensor result = Floats({kSums}, exact);
        const Tensor of_squares = Floats({kSums}, squares);
        RoundDifferently(result, SumForm{static_cast<int64_t>(count)}, &of_squares, seed);
        for (size_t i = 0; i < kSums; ++i)
          made = std::max(made, std::fabs(static_cast<double>(result.values<float>()[i]) - exact[i]));
      }
      EXPECT_GE(2 * made, largest) << count << " terms around " << mean;
      // No more than the worst case of partial sums of that size.
      double scale = 0;
      for (size_t i = 0; i < kSums; ++i)
        scale = std::max({scale, std::fabs(static_cast<double>(exact[i])), std::sqrt(static_cast<double>(squares[i]))});
      EXPECT_LE(made, 0x1p-23 * (1 + static_cast<double>(count) / 4) * scale) << count << " terms around " << mean;
    }
}

TEST(Rounding, WithoutASumAResultMovesByAUnit) {
  Tensor result = Floats({3}, {1, -8, 0});
  RoundDifferently(result, std::nullopt, nullptr, 5);
  const std::span<const float> moved = result.values<float>();
  EXPECT_NEAR(moved[0], 1, 0x1p-23);
  EXPECT_NEAR(moved[1], -8, 0x1p-20);
  EXPECT_EQ(moved[2], 0);
}

TEST(Rounding, IntegersStay) {
  Tensor result = Tensor::FromValues<int64_t>(DType::kInt64, {2}, std::vector<int64_t>{3, 4}).value();
  RoundDifferently(result, std::nullopt, nullptr, 5);
  EXPECT_EQ(result.values<int64_t>()[1], 4);
}

TEST(Rounding, SumsAreKnownWithTheirNumberOfTerms) {
  const auto form = [](const char* type, const std::vector<Shape>& operands, Shape result,
                       const std::function<void(PrimitiveBuilder&)>& set = nullptr) {
    PrimitiveBuilder primitive("", type, 13);
    if (set) set(primitive);
    std::vector<Tensor> tensors;
    for (const Shape& shape : operands) tensors.push_back(Zeros(shape));
    const std::optional<SumForm> found = SumFormOf(primitive.Finish(), tensors, Zeros(std::move(result)));
    return found ? std::to_string(found->terms) + (found->mean ? " mean" : "") : "none";
  };
  EXPECT_EQ(form("MatMul", {{2, 3, 40}, {40, 5}}, {2, 3, 5}), "40");
  EXPECT_EQ(form("Gemm", {{3, 40}, {40, 5}}, {3, 5}), "40");
  EXPECT_EQ(form("Gemm", {{40, 3}, {40, 5}}, {3, 5}, [](PrimitiveBuilder& p) { p.Set("transA", int64_t{1}); }), "40");
  EXPECT_EQ(form("Conv", {{1, 8, 6, 6}, {4, 8, 3, 3}, {4}}, {1, 4, 4, 4}), "72");
  EXPECT_EQ(form("Conv", {{1, 8, 6, 6}, {8, 1, 3, 3}}, {1, 8, 4, 4}), "9");
  EXPECT_EQ(form("ConvTranspose", {{1, 8, 6, 6}, {8, 2, 2, 2}}, {1, 4, 12, 12},
                 [](PrimitiveBuilder& p) { p.Set("group", int64_t{2}); }),
            "16");
  EXPECT_EQ(form("ReduceSum", {{2, 512, 3}}, {2, 1, 3}), "512");
  EXPECT_EQ(form("ReduceMean", {{2, 512}}, {2, 1}), "512 mean");
  EXPECT_EQ(form("GlobalAveragePool", {{1, 3, 7, 7}}, {1, 3, 1, 1}), "49 mean");
  EXPECT_EQ(form("AveragePool", {{1, 3, 7, 7}}, {1, 3, 5, 5},
                 [](PrimitiveBuilder& p) {
                   p.Set("kernel_shape", std::vector<int64_t>{3, 3});
                 }),
            "9 mean");
  EXPECT_EQ(form("Add", {{2, 3}, {2, 3}}, {2, 3}), "none");
  EXPECT_EQ(form("ReduceSum", {{2, 0}}, {0}), "none");
}

}  // namespace
}  // namespace deputy::host
