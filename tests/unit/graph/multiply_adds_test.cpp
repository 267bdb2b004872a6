// The multiply-adds that reports and limits of delegates count, from the types of the values alone.
#include <gtest/gtest.h>

#include "graph/graph.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

uint64_t Counted(const PrimitiveBuilder& builder, const std::vector<std::vector<int64_t>>& inputs,
                 std::vector<int64_t> output) {
  Graph graph;
  std::vector<ValueId> reads;
  for (const std::vector<int64_t>& dims : inputs)
    reads.push_back(graph.AddValue("x" + std::to_string(reads.size()), {DType::kFloat32, true, dims}));
  const ValueId made = graph.AddValue("y", {DType::kFloat32, true, std::move(output)});
  return MultiplyAdds(graph, MakeNode(builder, reads, {made}));
}

constexpr uint64_t kOfConv = 2 * 3 * 3 * 4 * 25;  // output elements, and one filter of 4 by 5 by 5

TEST(MultiplyAddsTest, OfConvolutions) {
  const std::vector<int64_t> image = {1, 4, 7, 7}, filters = {2, 4, 5, 5}, made = {1, 2, 3, 3};
  EXPECT_EQ(Counted(PrimitiveBuilder("", "Conv", 11), {image, filters}, made), kOfConv);
  EXPECT_EQ(Counted(PrimitiveBuilder("", "ConvInteger", 10), {image, filters}, made), kOfConv);
  EXPECT_EQ(Counted(PrimitiveBuilder("com.microsoft", "FusedConv", 1), {image, filters}, made), kOfConv);
}

TEST(MultiplyAddsTest, OfAQuantizedConvolution) {
  const std::vector<int64_t> image = {1, 4, 7, 7}, filters = {2, 4, 5, 5}, one;
  EXPECT_EQ(
      Counted(PrimitiveBuilder("", "QLinearConv", 10), {image, one, one, filters, one, one, one, one}, {1, 2, 3, 3}),
      kOfConv);
}

TEST(MultiplyAddsTest, OfProducts) {
  const std::vector<int64_t> a = {3, 5}, b = {5, 7}, made = {3, 7}, one;
  EXPECT_EQ(Counted(PrimitiveBuilder("", "MatMul", 13), {a, b}, made), 105u);
  EXPECT_EQ(Counted(PrimitiveBuilder("", "MatMulInteger", 10), {a, b}, made), 105u);
  EXPECT_EQ(Counted(PrimitiveBuilder("", "QLinearMatMul", 10), {a, one, one, b, one, one, one, one}, made), 105u);
  EXPECT_EQ(Counted(PrimitiveBuilder("", "Gemm", 13), {a, b}, made), 105u);
}

TEST(MultiplyAddsTest, OfProductsWithATransposedFactor) {
  PrimitiveBuilder gemm("", "Gemm", 13), fused("com.microsoft", "FusedMatMul", 1);
  gemm.Set("transA", int64_t{1});
  fused.Set("transA", int64_t{1});
  EXPECT_EQ(Counted(gemm, {{5, 3}, {5, 7}}, {3, 7}), 105u);
  EXPECT_EQ(Counted(fused, {{2, 5, 3}, {2, 5, 7}}, {2, 3, 7}), 210u);
}

TEST(MultiplyAddsTest, OfUnknownExtentsAreNone) {
  EXPECT_EQ(Counted(PrimitiveBuilder("", "MatMul", 13), {{-1, 5}, {5, 7}}, {-1, 7}), 0u);
}

}  // namespace
}  // namespace deputy::host
