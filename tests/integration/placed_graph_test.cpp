// Model::PlacementWithGraph: the values, attributes and regions of the placed nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

Result<PlacedGraph> GraphOf(const std::string& model, const std::vector<Shape>& shapes) {
  const Context context = *Context::FromYamlText("placed graph", "version: 1\nlog: {level: error}\n");
  Model built;
  if (const Status status = built.Build(std::string(DEPUTY_TEST_MODELS "/") + model, context); !status.ok())
    return status;
  return built.PlacementWithGraph(shapes);
}

TEST(PlacementWithGraph, HasTheValuesAndAttributesOfEachNode) {
  const Result<PlacedGraph> graph = GraphOf("tutorial.onnx", {{2, 3}, {2, 3}});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->nodes.size(), graph->placement.nodes.size());
  const auto leaky = std::find_if(graph->placement.nodes.begin(), graph->placement.nodes.end(),
                                  [](const NodeReport& node) { return node.name == "leaky"; });
  ASSERT_NE(leaky, graph->placement.nodes.end());
  const PlacedNode& node = graph->nodes[static_cast<size_t>(leaky - graph->placement.nodes.begin())];
  ASSERT_EQ(node.inputs.size(), 1u);
  EXPECT_EQ(node.inputs[0].name, "sum");
  EXPECT_EQ(node.inputs[0].type, "float32 [2,3]");
  EXPECT_TRUE(node.inputs[0].constant.empty());
  ASSERT_EQ(node.attributes.size(), 1u);
  EXPECT_EQ(node.attributes[0].first, "alpha");
  EXPECT_EQ(std::get<float>(node.attributes[0].second), 0.25F);
  ASSERT_EQ(graph->regions.size(), 1u);
  EXPECT_EQ(graph->regions[0].inputs[1].name, "y");
  EXPECT_EQ(graph->regions[0].outputs[0].name, "z");
}

TEST(PlacementWithGraph, ConstantsAreInIt) {
  const Result<PlacedGraph> graph = GraphOf("small.onnx", {{64, 65}, {64, 65}});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  size_t constants = 0;
  for (const PlacedNode& node : graph->nodes)
    for (const PlacedValue& input : node.inputs) constants += input.constant.empty() ? 0 : 1;
  EXPECT_EQ(constants, 2u);
}

TEST(PlacementWithGraph, RegionsAreListedWithTheOuterValuesThatTheyRead) {
  const Result<PlacedGraph> graph = GraphOf("branches.onnx", {{}, {2, 3}, {2, 3}});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->regions.size(), 3u);
  EXPECT_EQ(graph->regions[0].path, "");
  EXPECT_EQ(graph->regions[1].path, "choice/then_branch");
  ASSERT_EQ(graph->regions[1].captured.size(), 1u);
  EXPECT_EQ(graph->regions[1].outputs.size(), 1u);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const bool is_choice = graph->placement.nodes[i].name == "choice";
    ASSERT_EQ(graph->nodes[i].captured.empty(), !is_choice) << graph->placement.nodes[i].name;
    if (is_choice) {
      EXPECT_EQ(graph->nodes[i].captured.size(), 1u);
      EXPECT_EQ(graph->nodes[i].captured[0].name, "a");
    }
  }
}

TEST(PlacementWithGraph, OfAModelThatIsNotBuiltFails) {
  EXPECT_EQ(Model().PlacementWithGraph({}).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace deputy
