// What is taken and what is not, where the conformance cases do not say it.
#include <gtest/gtest.h>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

bool TakesResize(const Dims& x, const Dims& y, const Graph::Attributes& attributes, std::vector<float> scales = {}) {
  Graph graph;
  const deputy_value_id empty = graph.Constant({0});
  std::vector<deputy_value_id> inputs = {graph.Input(x), empty};
  const int64_t count = static_cast<int64_t>(scales.size());
  inputs.push_back(graph.Constant({count}, std::move(scales)));
  graph.Add("Resize", inputs, y, attributes);
  return graph.VerdictOn(0).supported();
}

void Asymmetric(fake::PrimitiveBytes& p) {
  p.String("coordinate_transformation_mode", "asymmetric").String("nearest_mode", "floor");
}
void Linear(fake::PrimitiveBytes& p) { p.String("mode", "linear"); }

TEST(Resize, NearestByWholeNumbersIsTaken) {
  EXPECT_TRUE(TakesResize({1, 2, 3, 4}, {1, 2, 6, 12}, Asymmetric, {1, 1, 2, 3}));
  EXPECT_TRUE(TakesResize({1, 2, 3, 4}, {1, 2, 6, 12}, {}, {1, 1, 2, 3}));
}

TEST(Resize, NearestAtOtherPositionsIsNot) {
  EXPECT_FALSE(TakesResize({1, 2, 6, 6}, {1, 2, 3, 3}, Asymmetric, {1, 1, 0.5f, 0.5f}));
  EXPECT_FALSE(TakesResize({1, 2, 4, 4}, {1, 2, 7, 7}, [](fake::PrimitiveBytes& p) {
    p.String("coordinate_transformation_mode", "align_corners");
  }));
}

TEST(Resize, LinearNeedsHalfPixels) {
  EXPECT_TRUE(TakesResize({1, 2, 3, 4}, {1, 2, 5, 9}, Linear));
  EXPECT_FALSE(TakesResize({1, 2, 3, 4}, {1, 2, 6, 8}, [](fake::PrimitiveBytes& p) {
    p.String("mode", "linear").String("coordinate_transformation_mode", "asymmetric");
  }));
}

TEST(Resize, AScaleThatTheExtentsDoNotTellMatters) {
  EXPECT_FALSE(TakesResize({1, 2, 3, 4}, {1, 2, 7, 4}, Linear, {1, 1, 2.5f, 1}));
}

TEST(Resize, ChannelsAreNotResized) { EXPECT_FALSE(TakesResize({1, 2, 3, 4}, {1, 4, 3, 4}, {}, {1, 2, 1, 1})); }

TEST(Neighbours, MoversAreTakenBesideWhatIsComputed) {
  Graph graph;
  const deputy_value_id a = graph.Add("Transpose", {graph.Input({2, 3})}, {3, 2});
  const deputy_value_id b = graph.Add("Flatten", {a}, {3, 2});
  graph.Output(graph.Add("Relu", {b}, {3, 2}));
  graph.Output(graph.Add("Transpose", {graph.Input({2, 3})}, {3, 2}));
  const sdk::GraphView view(sdk::Host(graph.host.table()), graph.host.graph());
  const auto taken = MoversWorthTaking(view, [](const sdk::NodeView&) { return true; });
  EXPECT_EQ(taken, (std::unordered_set<deputy_node_id>{0, 1}));
}

TEST(Neighbours, ASharedConstantIsNoNeighbour) {
  Graph graph;
  const deputy_value_id shared = graph.Constant({2, 3});
  graph.Output(graph.Add("Add", {graph.Input({2, 3}), shared}, {2, 3}));
  graph.Output(
      graph.Add("Concat", {graph.Input({2, 3}), shared}, {4, 3}, [](fake::PrimitiveBytes& p) { p.Int("axis", 0); }));
  const sdk::GraphView view(sdk::Host(graph.host.table()), graph.host.graph());
  EXPECT_TRUE(MoversWorthTaking(view, [](const sdk::NodeView&) { return true; }).empty());
}

}  // namespace
}  // namespace onednn
