#include "unit/graph/upgrade/upgraded.hpp"

namespace deputy::host {
namespace {

TEST(UpgradeSoftmax, SeveralAxesAreFlattened) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    const PassGraph made = OldNode(PrimitiveBuilder("", op, 11), {{2, 3, 4}});
    const Graph graph = Upgraded(made.graph);
    EXPECT_EQ(Operators(graph), std::string("Flatten,Shape,") + op + ",Reshape");
    EXPECT_EQ(graph.nodes[2].primitive.since_version(), 13);
    EXPECT_EQ(graph.values[graph.outputs[0]].name, std::string(op) + "1_0");
  }
}

TEST(UpgradeSoftmax, AxesOfOneElementCountForNothing) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Softmax", 1), {{2, 10, 1, 1}});
  const Graph graph = Upgraded(made.graph);
  EXPECT_EQ(Operators(graph), "Softmax");
  EXPECT_EQ(graph.nodes[0].primitive.GetInt("axis", 7), 1);
}

TEST(UpgradeSoftmax, AxisBeyondTheLastNormalizesSingleElements) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Softmax", 1), {{3}});
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({3}, {1, 2, 3})})), (std::vector<float>{1, 1, 1}));
}

TEST(UpgradeSoftmax, AnAxisOutsideTheRankIsRefused) {
  for (const int64_t axis : {int64_t{-5}, int64_t{-3}, int64_t{3}, INT64_MIN}) {
    const PassGraph made = OldNode(PrimitiveBuilder("", "Softmax", 11).Set("axis", axis), {{2, 3}});
    const Status status = UpgradeError(made);
    EXPECT_EQ(status.code(), StatusCode::kModel);
    EXPECT_EQ(status.message(), "axis " + std::to_string(axis) + " is out of range for rank 2");
  }
}

TEST(UpgradeSoftmax, UnknownRankIsFlattenedInTheRun) {
  PassGraph made = OldNode(PrimitiveBuilder("", "Softmax", 11).Set("axis", int64_t{2}), {{2, 3, 4}});
  made.graph.values[0].type.ranked = false;
  EXPECT_EQ(Operators(Upgraded(made.graph)), "Flatten,Shape,Softmax,Reshape");
}

}  // namespace
}  // namespace deputy::host
