// Definitions before opset 7.
#include "unit/graph/upgrade/upgraded.hpp"

namespace deputy::host {
namespace {

TEST(UpgradeLegacy, Cast1TakesItsTypeFromAWord) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Cast", 1).Set("to", std::string("INT32")), {{2}});
  const Tensor result = Result1(made, {Floats({2}, {1.5f, -2})});
  EXPECT_EQ(result.dtype(), DType::kInt32);
  EXPECT_EQ(ElementsOf<int32_t>(result), (std::vector<int32_t>{1, -2}));
  EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.since_version(), 6);
}

TEST(UpgradeLegacy, Cast1ToAnUnknownWordIsRefused) {
  const Status status = UpgradeError(OldNode(PrimitiveBuilder("", "Cast", 1).Set("to", std::string("float")), {{2}}));
  EXPECT_EQ(status.message(), "'float' is not an element type");
}

TEST(UpgradeLegacy, Concat1SaysItsAxis) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Concat", 1), {{1, 1}, {1, 1}});
  EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.GetInt("axis", -7), 1);
  EXPECT_EQ(Result1(made, {Floats({1, 1}, {1}), Floats({1, 1}, {2})}).shape(), (Dims{1, 2}));
}

TEST(UpgradeLegacy, Gemm6WithoutBroadcastNeedsCOfTheProductsShape) {
  const PrimitiveBuilder gemm = PrimitiveBuilder("", "Gemm", 6).Set("transB", int64_t{1});
  EXPECT_EQ(UpgradeError(OldNode(gemm, {{1, 2}, {3, 2}, {3}})).message(),
            "C of Gemm-6 without attribute 'broadcast' must have the shape [1,3], got [3]");
  EXPECT_TRUE(UpgradeError(OldNode(gemm, {{1, 2}, {3, 2}, {1, 3}})).ok());
}

TEST(UpgradeLegacy, Gemm6ForgetsToBroadcast) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Gemm", 6).Set("broadcast", int64_t{1}), {{1, 2}, {2, 2}, {2}});
  EXPECT_FALSE(Upgraded(made.graph).nodes[0].primitive.Has("broadcast"));
  EXPECT_EQ(
      ElementsOf<float>(Result1(made, {Floats({1, 2}, {1, 2}), Floats({2, 2}, {1, 0, 0, 1}), Floats({2}, {5, 6})})),
      (std::vector<float>{6, 8}));
}

TEST(UpgradeLegacy, RecurrentNodesForgetOutputSequence) {
  for (const char* op : {"RNN", "GRU", "LSTM"}) {
    const PassGraph made =
        OldNode(PrimitiveBuilder("", op, 1).Set("output_sequence", int64_t{1}), {{1, 1, 1}, {1, 4, 1}, {1, 4, 1}});
    const Node node = Upgraded(made.graph).nodes[0];
    EXPECT_EQ(node.primitive.since_version(), 7) << op;
    EXPECT_FALSE(node.primitive.Has("output_sequence")) << op;
  }
}

TEST(UpgradeLegacy, GRU3ForgetsOutputSequence) {
  const PassGraph made =
      OldNode(PrimitiveBuilder("", "GRU", 3).Set("output_sequence", int64_t{0}), {{1, 1, 1}, {1, 3, 1}, {1, 3, 1}});
  EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.since_version(), 7);
}

TEST(UpgradeLegacy, Selu1KeepsItsOwnConstants) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Selu", 1), {{1}});
  const Primitive primitive = Upgraded(made.graph).nodes[0].primitive;
  EXPECT_EQ(primitive.GetFloat("alpha", 0), 1.6732f);
  EXPECT_EQ(primitive.GetFloat("gamma", 0), 1.0507f);
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({1}, {1})}))[0], 1.0507f);
}

TEST(UpgradeLegacy, Tile1ComputesRepeatsThatItDoesNotKnow) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Tile", 1), {{1, 2}, {1}, {1}});
  EXPECT_EQ(Operators(Upgraded(made.graph)), "Cast,Cast,Less,Where,Gather,Equal,Where,Tile");
  const Tensor result = Result1(made, {Floats({1, 2}, {1, 2}), Floats({1}, {2}), Floats({1}, {0})});
  EXPECT_EQ(result.shape(), (Dims{2, 2}));
}

TEST(UpgradeLegacy, Pad1CallsItsPadsPaddings) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Pad", 1).Set("paddings", Dims{1, 0}).Set("value", 7.0f), {{1}});
  EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.since_version(), 11);
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({1}, {1})})), (std::vector<float>{7, 1}));
}

TEST(UpgradeLegacy, Reshape1MovesItsShapeToAnInput) {
  const PassGraph made =
      OldNode(PrimitiveBuilder("", "Reshape", 1).Set("shape", Dims{-1, 1}).Set("consumed_inputs", Dims{0}), {{2}});
  const Graph graph = Upgraded(made.graph);
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 5);
  EXPECT_TRUE(graph.nodes[0].primitive.AttributeNames().empty());
  EXPECT_EQ(Result1(made, {Floats({2}, {1, 2})}).shape(), (Dims{2, 1}));
}

TEST(UpgradeLegacy, Split1TakesSizesFromAnInput) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Split", 1), {{3}}, {Floats({2}, {1, 2})}, 2);
  EXPECT_EQ(Result1(made, {Floats({3}, {1, 2, 3})}).shape(), (Dims{1}));
  EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.since_version(), 13);
}

TEST(UpgradeLegacy, TopK1MovesKToAnInput) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "TopK", 1).Set("k", int64_t{2}), {{3}}, {}, 2);
  EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.since_version(), 10);
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({3}, {1, 3, 2})})), (std::vector<float>{3, 2}));
}

TEST(UpgradeLegacy, EqualShapesOfSumsAreACaseOfBroadcasting) {
  for (const char* op : {"Max", "Mean", "Min", "Sum"}) {
    const PassGraph made = OldNode(PrimitiveBuilder("", op, 1).Set("consumed_inputs", Dims{0, 0}), {{1}, {1}});
    EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.since_version(), 6) << op;
  }
}

TEST(UpgradeLegacy, MaxPoolAndPowKeepTheirVersion) {
  EXPECT_EQ(Upgraded(OldNode(PrimitiveBuilder("", "MaxPool", 1).Set("kernel_shape", Dims{1}), {{1, 1, 1}}).graph)
                .nodes[0]
                .primitive.since_version(),
            1);
  EXPECT_EQ(Upgraded(OldNode(PrimitiveBuilder("", "Pow", 7), {{1}, {1}}).graph).nodes[0].primitive.since_version(), 7);
}

TEST(UpgradeLegacy, PowersOfLpPoolBecomeWhole) {
  const auto pool = [](float p) {
    return OldNode(PrimitiveBuilder("", "LpPool", 1).Set("kernel_shape", Dims{1}).Set("p", p), {{1, 1, 1}}).graph;
  };
  const Graph graph = Upgraded(pool(3));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 2);
  EXPECT_EQ(graph.nodes[0].primitive.GetInt("p", 0), 3);
  Graph broken = pool(2.5f);
  EXPECT_EQ(UpgradeGraph(broken).code(), StatusCode::kNotSupported);
}

TEST(UpgradeLegacy, ScatterIsScatterElements) {
  PassGraph made;
  const ValueId x = made.Input("x", {3});
  made.Output(made.Node(PrimitiveBuilder("", "Scatter", 9).Set("axis", int64_t{0}),
                        {x, made.Constant(Ints({2})), made.Constant(Floats({1}, {9}))}));
  EXPECT_EQ(Operators(Upgraded(made.graph)), "ScatterElements");
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({3}, {1, 2, 3})})), (std::vector<float>{1, 2, 9}));
}

TEST(UpgradeTraining, BatchNormalizationForgetsIsTest) {
  const PassGraph made =
      OldNode(PrimitiveBuilder("", "BatchNormalization", 6).Set("is_test", int64_t{1}), {{1, 1}, {1}, {1}, {1}, {1}});
  const Graph graph = Upgraded(made.graph);
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 14);
  EXPECT_TRUE(graph.nodes[0].primitive.AttributeNames().empty());
}

TEST(UpgradeTraining, DropoutForgetsIsTest) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Dropout", 6).Set("is_test", int64_t{0}), {{1}});
  const Graph graph = Upgraded(made.graph);
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 12);
  EXPECT_TRUE(graph.nodes[0].primitive.AttributeNames().empty());
}

TEST(UpgradeTraining, BatchNormalizationPerElementStays) {
  const PassGraph made =
      OldNode(PrimitiveBuilder("", "BatchNormalization", 7).Set("spatial", int64_t{0}).Set("epsilon", 0.0f),
              {{1, 2}, {2}, {2}, {2}, {2}});
  EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.since_version(), 7);
  const Tensor result = Result1(made, {Floats({1, 2}, {3, 5}), Floats({2}, {1, 2}), Floats({2}, {0, 1}),
                                       Floats({2}, {1, 1}), Floats({2}, {1, 4})});
  EXPECT_EQ(ElementsOf<float>(result), (std::vector<float>{2, 5}));
}

}  // namespace
}  // namespace deputy::host
