#include "unit/graph/upgrade/upgraded.hpp"

namespace deputy::host {
namespace {

PrimitiveBuilder From(const char* op, int64_t axis) {
  return PrimitiveBuilder("", op, 6).Set("broadcast", int64_t{1}).Set("axis", axis);
}

TEST(UpgradeBroadcast, ComputedOperandGetsAxesAtItsEnd) {
  const PassGraph made = OldNode(From("Add", 0), {{2, 2}, {2}});
  EXPECT_EQ(Operators(Upgraded(made.graph)), "Unsqueeze,Add");
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({2, 2}, {1, 2, 3, 4}), Floats({2}, {10, 20})})),
            (std::vector<float>{11, 12, 23, 24}));
}

TEST(UpgradeBroadcast, ConstantOperandIsReshaped) {
  const PassGraph made = OldNode(From("Mul", 1), {{1, 2, 2}}, {Floats({2}, {10, 20})});
  EXPECT_EQ(Operators(Upgraded(made.graph)), "Mul");
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({1, 2, 2}, {1, 2, 3, 4})})), (std::vector<float>{10, 20, 60, 80}));
}

TEST(UpgradeBroadcast, OperandAtTheEndStays) {
  const Graph graph = Upgraded(OldNode(From("Sub", 1), {{2, 2}, {2}}).graph);
  EXPECT_EQ(Operators(graph), "Sub");
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 7);
  EXPECT_FALSE(graph.nodes[0].primitive.Has("broadcast"));
  EXPECT_EQ(Operators(Upgraded(OldNode(From("Div", -1), {{2, 2}, {2}}).graph)), "Div");
}

TEST(UpgradeBroadcast, AxisSaysNothingWithoutBroadcast) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Pow", 1).Set("axis", int64_t{0}), {{2, 2}, {2, 2}});
  const Graph graph = Upgraded(made.graph);
  EXPECT_EQ(Operators(graph), "Pow");
  EXPECT_FALSE(graph.nodes[0].primitive.Has("axis"));
}

TEST(UpgradeBroadcast, ShapesThatDifferWithoutBroadcastAreRefused) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"})
    EXPECT_EQ(UpgradeError(OldNode(PrimitiveBuilder("", op, 6), {{2, 3}, {3}})).message(),
              fmt::format("operands of {}-6 without attribute 'broadcast' must have one shape, got [2,3] and [3]", op));
  EXPECT_EQ(UpgradeError(OldNode(PrimitiveBuilder("", "Pow", 1).Set("axis", int64_t{0}), {{2, 3}, {2}})).message(),
            "operands of Pow-1 without attribute 'broadcast' must have one shape, got [2,3] and [2]");
  EXPECT_TRUE(UpgradeError(OldNode(PrimitiveBuilder("", "Add", 6), {{2, kUnknownDim}, {kUnknownDim, 3}})).ok());
}

TEST(UpgradeBroadcast, FirstOperandThatWouldGrowIsRefused) {
  EXPECT_EQ(UpgradeError(OldNode(From("Add", -1), {{3}, {2, 3}})).message(),
            "Add-6 broadcasts its second operand only, got [3] and [2,3]");
}

TEST(UpgradeBroadcast, ComparisonsAndLogicAreUpgradedAlike) {
  for (const char* op : {"Equal", "Greater", "Less"})
    EXPECT_EQ(Operators(Upgraded(OldNode(From(op, 0), {{2, 2}, {2}}).graph)), std::string("Unsqueeze,") + op);
  for (const char* op : {"And", "Or", "Xor"}) {
    PassGraph made;
    const ValueId a = made.Input("a", {2, 2}, DType::kBool), b = made.Input("b", {2}, DType::kBool);
    made.Output(made.Node(From(op, 0), {a, b}));
    EXPECT_EQ(Operators(Upgraded(made.graph)), std::string("Unsqueeze,") + op);
  }
}

TEST(UpgradeBroadcast, UnknownRankIsRefusedByNameAndVersion) {
  PassGraph made = OldNode(From("Add", 0), {{2, 2}, {2}});
  made.graph.values[0].type.ranked = false;
  EXPECT_EQ(UpgradeError(made).message(),
            "Add version 6 with axis 0, which opset 7 removed, is not supported for operands of unknown rank");
}

TEST(UpgradeBroadcast, SlopePerChannelMayBeComputed) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "PRelu", 6), {{1, 2, 1, 2}, {2}});
  EXPECT_EQ(Operators(Upgraded(made.graph)), "Unsqueeze,PRelu");
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({1, 2, 1, 2}, {-1, 1, -1, 2}), Floats({2}, {10, 20})})),
            (std::vector<float>{-10, 1, -20, 2}));
}

}  // namespace
}  // namespace deputy::host
