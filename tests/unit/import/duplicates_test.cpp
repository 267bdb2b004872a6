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

TEST(Duplicates, OfInitializersOfOneNameTheLastWins) {
  ModelBuilder builder;
  builder.Floats("w", {1});
  builder.Floats("w", {2});
  builder.Output("w");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(ConstantOf(*graph, "w"), (std::vector<float>{2}));
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
