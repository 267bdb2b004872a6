#include "graph/upgrade/upgrade.hpp"

#include <limits>

#include "unit/graph/upgrade/upgraded.hpp"

namespace deputy::host {
namespace {

// A graph of one node whose first input is a graph input and whose outputs are the graph's.
Graph OneNode(const PrimitiveBuilder& builder, const ValueType& input = {DType::kFloat32, true, {2, 3}},
              size_t outputs = 1) {
  Graph graph;
  graph.inputs = {graph.AddValue("x", input)};
  Node& node = graph.nodes.emplace_back();
  node.name = "it";
  node.primitive = builder.Finish();
  node.inputs = {graph.inputs[0]};
  for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(graph.AddValue("y" + std::to_string(i)));
  graph.outputs = {node.outputs[0]};
  return graph;
}

const Value& Input(const Graph& graph, size_t i, NodeId node = 0) { return graph.values[graph.nodes[node].inputs[i]]; }

std::vector<int64_t> Ints(const Value& value) {
  const std::span<const int64_t> values = value.constant.values<int64_t>();
  return {values.begin(), values.end()};
}

TEST(Upgrade, ClipBoundsBecomeInputs) {
  const Graph graph = Upgraded(OneNode(PrimitiveBuilder("", "Clip", 6).Set("min", 0.0f).Set("max", 6.0f)));
  const Node& node = graph.nodes[0];
  EXPECT_EQ(node.primitive.since_version(), 11);
  EXPECT_TRUE(node.primitive.AttributeNames().empty());
  EXPECT_EQ(Input(graph, 1).name, "it.min");
  EXPECT_EQ(Input(graph, 1).constant.values<float>()[0], 0.0f);
  EXPECT_EQ(Input(graph, 2).constant.values<float>()[0], 6.0f);
}

TEST(Upgrade, ClipWithoutMinimumKeepsInfinityOut) {
  const Graph graph = Upgraded(OneNode(PrimitiveBuilder("", "Clip", 6).Set("max", 6.0f)));
  EXPECT_EQ(Input(graph, 1).constant.values<float>()[0], std::numeric_limits<float>::lowest());
  EXPECT_EQ(Input(graph, 2).name, "it.max");
}

TEST(Upgrade, ClipBoundsTakeTheInputsType) {
  const Graph graph = Upgraded(OneNode(PrimitiveBuilder("", "Clip", 6).Set("max", 6.0f), {DType::kFloat16, true, {2}}));
  EXPECT_EQ(Input(graph, 2).constant.dtype(), DType::kFloat16);
  EXPECT_EQ(Input(graph, 2).constant.values<uint16_t>()[0], 0x4600);
}

TEST(Upgrade, TypeIsInferredThroughEarlierNodes) {
  Graph graph = OneNode(PrimitiveBuilder("", "Flatten", 9), {DType::kFloat64, true, {2, 3}});
  Node& clip = graph.nodes.emplace_back();
  clip.primitive = PrimitiveBuilder("", "Clip", 6).Set("max", 6.0f).Finish();
  clip.inputs = {graph.outputs[0]};
  clip.outputs = {graph.AddValue("z")};
  graph.outputs = {clip.outputs[0]};
  graph = Upgraded(std::move(graph));
  EXPECT_EQ(Input(graph, 2, 1).constant.dtype(), DType::kFloat64);
}

TEST(Upgrade, ClipOfUnknownTypeIsRefusedWithTheNode) {
  Graph graph = OneNode(PrimitiveBuilder("", "Clip", 6).Set("max", 6.0f), {DType::kUndefined, false, {}});
  const Status status = UpgradeGraph(graph);
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_EQ(status.where(), "node 'it' (Clip)");
}

TEST(Upgrade, ConstantsOfEquallyNamedNodesGetNamesOfTheirOwn) {
  Graph graph = OneNode(PrimitiveBuilder("", "Clip", 6).Set("max", 6.0f));
  Node duplicate = graph.nodes[0];
  duplicate.outputs = {graph.AddValue("z")};
  graph.nodes.push_back(duplicate);
  graph = Upgraded(std::move(graph));
  EXPECT_EQ(Input(graph, 2, 0).name, "it.max");
  EXPECT_EQ(Input(graph, 2, 1).name, "it.max_2");
}

TEST(Upgrade, PadAttributesBecomeInputs) {
  const Graph graph =
      Upgraded(OneNode(PrimitiveBuilder("", "Pad", 2).Set("pads", Dims{0, 1, 0, 1}).Set("value", 2.5f)));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 11);
  EXPECT_EQ(Ints(Input(graph, 1)), (Dims{0, 1, 0, 1}));
  EXPECT_EQ(Input(graph, 2).constant.values<float>()[0], 2.5f);
}

TEST(Upgrade, ReductionAxesBecomeAnInput) {
  const Graph graph =
      Upgraded(OneNode(PrimitiveBuilder("", "ReduceMean", 13).Set("axes", Dims{-1}).Set("keepdims", int64_t{0})));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 18);
  EXPECT_EQ(graph.nodes[0].primitive.GetInt("keepdims", 1), 0);
  EXPECT_EQ(Ints(Input(graph, 1)), (Dims{-1}));
}

TEST(Upgrade, ReduceSumChangedEarlierThanTheOthers) {
  const Graph graph = Upgraded(OneNode(PrimitiveBuilder("", "ReduceSum", 11).Set("axes", Dims{1})));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 13);
}

TEST(Upgrade, ReductionOfAllAxesKeepsItsVersion) {
  const Graph graph = Upgraded(OneNode(PrimitiveBuilder("", "ReduceMean", 1)));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 1);
}

TEST(Upgrade, SliceAttributesBecomeInputs) {
  const Graph graph = Upgraded(
      OneNode(PrimitiveBuilder("", "Slice", 1).Set("starts", Dims{1}).Set("ends", Dims{3}).Set("axes", Dims{1})));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 10);
  EXPECT_EQ(Ints(Input(graph, 1)), (Dims{1}));
  EXPECT_EQ(Ints(Input(graph, 2)), (Dims{3}));
  EXPECT_EQ(Ints(Input(graph, 3)), (Dims{1}));
}

TEST(Upgrade, SliceWithoutEndsIsRefused) {
  Graph graph = OneNode(PrimitiveBuilder("", "Slice", 1).Set("starts", Dims{1}));
  EXPECT_EQ(UpgradeGraph(graph).message(), "attribute 'ends' is missing");
}

TEST(Upgrade, SplitSizesBecomeAnInput) {
  const Graph graph =
      Upgraded(OneNode(PrimitiveBuilder("", "Split", 2).Set("split", Dims{1, 2}).Set("axis", int64_t{1}),
                       {DType::kFloat32, true, {2, 3}}, 2));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 13);
  EXPECT_EQ(Ints(Input(graph, 1)), (Dims{1, 2}));
}

TEST(Upgrade, SqueezeAndUnsqueezeAxesBecomeInputs) {
  for (const char* op : {"Squeeze", "Unsqueeze"}) {
    const Graph graph =
        Upgraded(OneNode(PrimitiveBuilder("", op, 11).Set("axes", Dims{0}), {DType::kFloat32, true, {1, 3}}));
    EXPECT_EQ(graph.nodes[0].primitive.since_version(), 13) << op;
    EXPECT_EQ(Ints(Input(graph, 1)), (Dims{0})) << op;
  }
}

TEST(Upgrade, SoftmaxOverTheLastAxisMeansTheSameSince13) {
  const Graph graph = Upgraded(OneNode(PrimitiveBuilder("", "Softmax", 11)));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 13);
  EXPECT_EQ(graph.nodes[0].primitive.GetInt("axis", 7), -1);
}

TEST(Upgrade, DropoutForgetsItsRatioAndItsUnreadMask) {
  const Graph graph =
      Upgraded(OneNode(PrimitiveBuilder("", "Dropout", 7).Set("ratio", 0.3f), {DType::kFloat32, true, {2}}, 2));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 12);
  EXPECT_FALSE(graph.nodes[0].primitive.Has("ratio"));
  EXPECT_EQ(graph.nodes[0].outputs.size(), 1u);
}

TEST(Upgrade, OldDropoutWhoseMaskIsReadConvertsIt) {
  Graph graph = OneNode(PrimitiveBuilder("", "Dropout", 7), {DType::kFloat32, true, {2}}, 2);
  const ValueId mask = graph.nodes[0].outputs[1];
  graph.outputs.push_back(mask);
  graph = Upgraded(std::move(graph));
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[1].kind(), OpKind::kCastLike);
  EXPECT_EQ(graph.nodes[1].outputs[0], mask);
}

Graph BatchNormalization(const PrimitiveBuilder& builder, size_t outputs) {
  Graph graph = OneNode(builder, {DType::kFloat32, true, {2, 3}}, outputs);
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    const ValueId id = graph.AddValue(name, {DType::kFloat32, true, {3}});
    graph.inputs.push_back(id);
    graph.nodes[0].inputs.push_back(id);
  }
  return graph;
}

TEST(Upgrade, BatchNormalizationTakesTheFormWithoutTraining) {
  const Graph graph =
      Upgraded(BatchNormalization(PrimitiveBuilder("", "BatchNormalization", 7).Set("spatial", int64_t{1}), 5));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 14);
  EXPECT_FALSE(graph.nodes[0].primitive.Has("spatial"));
  EXPECT_EQ(graph.nodes[0].outputs.size(), 1u);
}

TEST(Upgrade, BatchNormalizationWhoseStatisticsAreReadIsRefused) {
  Graph graph = BatchNormalization(PrimitiveBuilder("", "BatchNormalization", 9), 3);
  graph.outputs.push_back(graph.nodes[0].outputs[1]);
  EXPECT_EQ(UpgradeGraph(graph).code(), StatusCode::kNotSupported);
}

TEST(Upgrade, ConsumedInputsAreDropped) {
  const Graph graph = Upgraded(OneNode(PrimitiveBuilder("", "Relu", 1).Set("consumed_inputs", Dims{0})));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 6);
  EXPECT_FALSE(graph.nodes[0].primitive.Has("consumed_inputs"));
}

TEST(Upgrade, SlopePerChannelIsReshapedForBroadcasting) {
  Graph graph = OneNode(PrimitiveBuilder("", "PRelu", 6), {DType::kFloat32, true, {2, 3, 4, 4}});
  const Tensor slope = Tensor::FromValues<float>(DType::kFloat32, {3}, std::vector<float>{1, 2, 3}).value();
  graph.nodes[0].inputs.push_back(graph.AddConstant("slope", slope));
  graph = Upgraded(std::move(graph));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 7);
  EXPECT_EQ(Input(graph, 1).type.dims, (Dims{3, 1, 1}));
}

TEST(Upgrade, NodesInBranchesAreUpgradedWithConstantsOfTheirOwn) {
  auto body = std::make_shared<Graph>();
  body->captured = {body->AddValue("x")};
  Node& clip = body->nodes.emplace_back();
  clip.name = "inner";
  clip.primitive = PrimitiveBuilder("", "Clip", 6).Set("max", 6.0f).Finish();
  clip.inputs = {body->captured[0]};
  clip.outputs = {body->AddValue("y")};
  body->outputs = {clip.outputs[0]};

  Graph graph;
  const ValueId condition = graph.AddValue("condition", {DType::kBool, true, {}});
  const ValueId x = graph.AddValue("x", {DType::kFloat64, true, {2}});
  graph.inputs = {condition, x};
  Node& node = graph.nodes.emplace_back();
  node.primitive = PrimitiveBuilder("", "If", 1).Finish();
  node.inputs = {condition};
  node.outputs = {graph.AddValue("out")};
  node.regions = {{"then_branch", body, {x}}, {"else_branch", body, {x}}};
  graph.outputs = {node.outputs[0]};
  const size_t outer_values = graph.values.size();

  graph = Upgraded(std::move(graph));
  EXPECT_EQ(graph.values.size(), outer_values);
  const Graph& upgraded = *graph.nodes[0].regions[0].body;
  EXPECT_EQ(upgraded.nodes[0].primitive.since_version(), 11);
  EXPECT_EQ(Input(upgraded, 2).constant.dtype(), DType::kFloat64);
  EXPECT_EQ(body->nodes[0].primitive.since_version(), 6) << "the shared body was changed in place";
}

using Names = std::vector<std::string>;

Names KeptAttributes(const PrimitiveBuilder& builder) {
  Graph graph = OneNode(builder);
  EXPECT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), builder.Finish().since_version());
  const std::vector<std::string_view> names = graph.nodes[0].primitive.AttributeNames();
  return {names.begin(), names.end()};
}

TEST(Upgrade, AttributesThatLaterDefinitionsAddedAreDroppedWhereTheyHoldTheirDefaults) {
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("", "Reshape", 14).Set("allowzero", int64_t{0})), Names{});
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("", "Reshape", 14).Set("allowzero", int64_t{1})), Names{"allowzero"});
  EXPECT_EQ(
      KeptAttributes(
          PrimitiveBuilder("", "ReduceSum", 13).Set("keepdims", int64_t{1}).Set("noop_with_empty_axes", int64_t{0})),
      Names{"keepdims"})
      << "the first definition has keepdims";
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("", "QuantizeLinear", 21)
                               .Set("axis", int64_t{1})
                               .Set("block_size", int64_t{0})
                               .Set("saturate", int64_t{1})),
            Names{});
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("", "ScatterND", 18).Set("reduction", std::string("none"))), Names{});
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("", "MaxPool", 12)
                               .Set("dilations", std::vector<int64_t>{1, 1})
                               .Set("kernel_shape", std::vector<int64_t>{2, 2})),
            Names{"kernel_shape"});
}

TEST(Upgrade, AttributesThatHaveNoDefaultAreKept) {
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("", "Constant", 13).Set("value_int", int64_t{0})), Names{"value_int"});
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("", "Shape", 15).Set("start", int64_t{0}).Set("end", int64_t{0})),
            Names{"end"});
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("", "Split", 18).Set("num_outputs", int64_t{0})), Names{"num_outputs"});
  EXPECT_EQ(KeptAttributes(PrimitiveBuilder("com.example", "Reshape", 14).Set("allowzero", int64_t{0})),
            Names{"allowzero"});
}

TEST(Upgrade, DefaultsInBranchesAreDroppedInACopyOfTheBranch) {
  auto body = std::make_shared<Graph>(OneNode(PrimitiveBuilder("", "Reshape", 14).Set("allowzero", int64_t{0})));
  Graph graph = OneNode(PrimitiveBuilder("", "If", 16));
  graph.nodes[0].regions.push_back({"then_branch", body, {}});
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_FALSE(graph.nodes[0].regions[0].body->nodes[0].primitive.Has("allowzero"));
  EXPECT_TRUE(body->nodes[0].primitive.Has("allowzero"));
}

TEST(Upgrade, NewestFormsAreLeftAlone) {
  const Graph graph = Upgraded(OneNode(PrimitiveBuilder("", "Relu", 14)));
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 14);
}

}  // namespace
}  // namespace deputy::host
