// Names that several constants of a graph have.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::ErrorOf;
using test::GraphBuilder;
using test::ModelBuilder;

// A Constant node of one element.
void AddConstantNode(GraphBuilder& builder, const std::string& name, float value) {
  onnx::NodeProto& node = builder.Node("Constant", {}, {name});
  onnx::TensorProto& tensor = *test::Attribute(node, "value", onnx::AttributeProto::TENSOR).mutable_t();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(1);
  tensor.add_float_data(value);
}

// The values of the constant `name`, of which there is one.
std::vector<float> ConstantOf(const Graph& graph, const std::string& name) {
  const auto has_name = [&](const Value& value) { return value.name == name; };
  EXPECT_EQ(std::count_if(graph.values.begin(), graph.values.end(), has_name), 1);
  const Value* value = test::Find(graph, name);
  if (value == nullptr || !value->is_constant()) return {};
  return {value->constant.values<float>().begin(), value->constant.values<float>().end()};
}

// As ONNX Runtime reads such models.
TEST(Duplicates, OfConstantNodesOfOneNameTheLastWins) {
  ModelBuilder builder;
  builder.Input("x", {1});
  AddConstantNode(builder, "c", 10);
  builder.Node("Add", {"x", "c"}, {"y"});
  AddConstantNode(builder, "c", 20);
  AddConstantNode(builder, "c", 30);
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(ConstantOf(*graph, "c"), (std::vector<float>{30}));
  EXPECT_EQ(graph->warnings.size(), 2u);
}

TEST(Duplicates, ConstantNodeWinsOverAnInitializerOfItsName) {
  ModelBuilder builder;
  builder.Input("x", {1});
  builder.Floats("c", {10});
  AddConstantNode(builder, "c", 20);
  builder.Node("Add", {"x", "c"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(ConstantOf(*graph, "c"), (std::vector<float>{20}));
}

TEST(Duplicates, R24_InitializersOfOneNameAndOtherElementsAreRefused) {
  ModelBuilder builder;
  builder.Floats("v", {1});
  builder.Floats("w", {1});
  builder.Floats("w", {2});
  builder.Output("w");
  const std::string error = ErrorOf(builder);
  EXPECT_NE(
      error.find("initializer 'w': the graph has two initializers of this name with different elements, the second "
                 "at index 2"),
      std::string::npos)
      << error;
}

TEST(Duplicates, InitializersOfOneNameAndTheSameElementsAreAWarning) {
  ModelBuilder builder;
  builder.Floats("w", {2});
  builder.Floats("w", {2});
  builder.Output("w");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(ConstantOf(*graph, "w"), (std::vector<float>{2}));
  EXPECT_EQ(graph->warnings,
            (std::vector<std::string>{"initializer 'w' is given twice with the same elements, the second at index 1"}));
}

TEST(Duplicates, InputsWithADefaultAreConstantsUnlessTheyAreGiven) {
  ModelBuilder builder;
  builder.Input("w", {1});
  builder.Input("x", {1});
  builder.Input("c", {1});
  builder.Floats("w", {10});
  AddConstantNode(builder, "c", 20);
  builder.Node("Add", {"x", "w"}, {"s"});
  builder.Node("Add", {"s", "c"}, {"y"});
  builder.Output("y");
  const std::string bytes = builder.Bytes();
  const std::span<const uint8_t> span{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  const auto inputs_with = [&](std::vector<std::string> given) {
    ImportSource source{span, nullptr, {}};
    source.given_inputs = std::move(given);
    const Result<Graph> graph = test::OnnxImporter().Import(source);
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    std::vector<std::string> names;
    if (!graph.ok()) return names;
    EXPECT_EQ(graph->inputs_with_default, (std::vector<std::string>{"w", "c"}));
    for (const ValueId id : graph->inputs) names.push_back(graph->values[id].name);
    return names;
  };
  EXPECT_EQ(inputs_with({}), (std::vector<std::string>{"x"}));
  EXPECT_EQ(inputs_with({"w"}), (std::vector<std::string>{"w", "x"}));
  EXPECT_EQ(inputs_with({"w", "c"}), (std::vector<std::string>{"w", "x", "c"}));
}

TEST(Duplicates, ConstantNodeIsTheDefaultOfAnInputOfItsName) {
  ModelBuilder builder;
  builder.Input("x", {1});
  builder.Input("c", {1});
  AddConstantNode(builder, "c", 20);
  builder.Node("Add", {"x", "c"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(ConstantOf(*graph, "c"), (std::vector<float>{20}));
}

TEST(Duplicates, R24_ConstantsOfOneNameAndTwoTypesAreRefused) {
  ModelBuilder builder;
  builder.Floats("c", {1, 2});
  AddConstantNode(builder, "c", 20);
  EXPECT_NE(ErrorOf(builder).find("constant 'c' is given twice, as float32 [2] and as float32 [1]"), std::string::npos)
      << ErrorOf(builder);
}

TEST(Duplicates, R24_ConstantAndAnotherNodeOfOneNameAreRefused) {
  for (const bool constant_first : {false, true}) {
    ModelBuilder builder;
    builder.Input("x", {1});
    if (constant_first) AddConstantNode(builder, "c", 1);
    builder.Node("Relu", {"x"}, {"c"});
    if (!constant_first) AddConstantNode(builder, "c", 1);
    builder.Output("c");
    EXPECT_NE(ErrorOf(builder).find("'c' is produced by node"), std::string::npos) << ErrorOf(builder);
  }
}

}  // namespace
}  // namespace deputy::host
