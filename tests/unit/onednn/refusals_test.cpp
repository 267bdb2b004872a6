// What a program refuses to read: values that the partition does not have, and slices and pads beyond their tensors.
#include <gtest/gtest.h>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

TEST(Refusals, R158_AValueThatNoNodeMakesIsRefused) {
  Graph graph;
  const deputy_value_id foreign = graph.host.AddValue("foreign", {2, 3});
  graph.Output(graph.Add("Add", {graph.Input({2, 3}), foreign}, {2, 3}));
  EXPECT_THROW(graph.Compile(), Refusal);
}

TEST(Refusals, R158_AnOutputThatNoNodeMakesIsRefused) {
  Graph graph;
  graph.Output(graph.Add("Relu", {graph.Input({2, 3})}, {2, 3}));
  graph.Output(graph.host.AddValue("foreign", {2, 3}));
  EXPECT_THROW(graph.Compile(), Refusal);
}

TEST(Refusals, R158_AConstantWithoutItsElementsIsRefused) {
  Graph graph;
  graph.Output(graph.Add("Add", {graph.Input({2, 3}), graph.Constant({2, 3}, {1, 2})}, {2, 3}));
  EXPECT_THROW(graph.Compile(), Refusal);
}

bool TakesSlice(std::vector<int64_t> starts, std::vector<int64_t> axes, const Dims& y) {
  Graph graph;
  const auto attributes = [=](fake::PrimitiveBytes& p) { p.Ints("starts", starts).Ints("axes", axes); };
  graph.Add("Slice", {graph.Input({4, 5})}, y, attributes, 1);
  return graph.VerdictOn(0).supported();
}

TEST(Refusals, R158_ASliceBeyondItsTensorIsRefused) {
  EXPECT_TRUE(TakesSlice({1, 2}, {0, 1}, {3, 3}));
  EXPECT_FALSE(TakesSlice({1, 2}, {0, 1}, {4, 3}));
  EXPECT_FALSE(TakesSlice({1, 2}, {0}, {3, 3}));
  EXPECT_FALSE(TakesSlice({1, 2}, {0, 2}, {3, 3}));
  EXPECT_FALSE(TakesSlice({1, 2}, {0, INT64_MIN}, {3, 3}));
}

bool TakesPad(std::vector<int64_t> pads, const Dims& y) {
  Graph graph;
  const auto attributes = [=](fake::PrimitiveBytes& p) { p.Ints("pads", pads); };
  graph.Add("Pad", {graph.Input({4, 5})}, y, attributes, 2);
  return graph.VerdictOn(0).supported();
}

TEST(Refusals, R158_APadBeyondItsResultIsRefused) {
  EXPECT_TRUE(TakesPad({1, 0, 0, 2}, {5, 7}));
  EXPECT_FALSE(TakesPad({2, 0, 0, 2}, {5, 7}));
  EXPECT_FALSE(TakesPad({INT64_MAX, 0, 0, 2}, {5, 7}));
  EXPECT_FALSE(TakesPad({1, 0, 0}, {5, 7}));
}

TEST(Refusals, R158_AnAxisTooLongToCompareIsNotResized) {
  Graph graph;
  graph.Add("Resize", {graph.Input({1, 1, 1 << 22})}, {1, 1, 1 << 23}, {});
  EXPECT_FALSE(graph.VerdictOn(0).supported());
}

}  // namespace
}  // namespace onednn
