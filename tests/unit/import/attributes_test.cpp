#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::ErrorOf;
using test::ModelBuilder;

TEST(Attributes, R28_AttributeOfAWrongKindIsRefused) {
  ModelBuilder builder;
  builder.Input("x");
  onnx::NodeProto& node = builder.Node("Softmax", {"x"}, {"y"}, "s");
  test::Attribute(node, "axis", onnx::AttributeProto::FLOAT).set_f(1.0f);
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node 's' (Softmax): attribute 'axis' has type FLOAT, expected INT");
}

TEST(Attributes, AttributeHasTheKindOfItsTime) {
  ModelBuilder builder(5);
  builder.Input("x");
  onnx::NodeProto& node = builder.Node("Cast", {"x"}, {"y"}, "c");
  test::Attribute(node, "to", onnx::AttributeProto::INT).set_i(1);
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node 'c' (Cast): attribute 'to' has type INT, expected STRING");
}

TEST(Attributes, R28_AttributeGivenTwiceIsRefused) {
  ModelBuilder builder;
  builder.Input("x");
  onnx::NodeProto& node = builder.Node("Softmax", {"x"}, {"y"});
  test::SetInt(node, "axis", 0);
  test::SetInt(node, "axis", 1);
  builder.Output("y");
  EXPECT_NE(ErrorOf(builder).find("'axis' is given twice"), std::string::npos);
}

TEST(Attributes, HintOfAVendorIsKept) {
  ModelBuilder builder;
  builder.Input("x");
  test::SetInt(builder.Node("Relu", {"x"}, {"y"}), "vendor_hint", 5);
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes[0].primitive.GetInt("vendor_hint", 0), 5);
  EXPECT_EQ(graph->warnings,
            (std::vector<std::string>{"node 0 (Relu): Relu-14 has no attribute 'vendor_hint': it has no effect"}));
}

// Softmax-13 with a temperature, a slip of an exporter; the same of many nodes is said once.
TEST(Attributes, R28_UnknownAttributesOfAKnownOperatorAreOneWarning) {
  ModelBuilder builder;
  builder.Input("x");
  for (const auto& [from, to] : {std::pair("x", "y"), std::pair("y", "z"), std::pair("z", "w")})
    test::Attribute(builder.Node("Softmax", {from}, {to}, to), "beta", onnx::AttributeProto::FLOAT).set_f(10);
  builder.Output("w");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->warnings, (std::vector<std::string>{"node 'y' (Softmax): Softmax-13 has no attribute 'beta': it has "
                                                       "no effect (and 2 more such nodes)"}));
}

// An attribute belongs to the definitions that have it.
TEST(Attributes, R28_AttributeOfAnotherDefinitionIsAWarning) {
  for (const int64_t opset : {13, 28}) {
    ModelBuilder builder(opset);
    builder.Input("x", {1, 1, 2, 2});
    onnx::NodeProto& node = builder.Node("SpaceToDepth", {"x"}, {"y"}, "s");
    test::SetInt(node, "blocksize", 2);
    test::Attribute(node, "mode", onnx::AttributeProto::STRING).set_s("CRD");
    builder.Output("y");
    const Result<Graph> graph = builder.Import();
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    EXPECT_EQ(graph->warnings.size(), opset == 13 ? 1u : 0u);
  }
}

TEST(Attributes, R27_AttributeThatANewerDefinitionMayHaveIsRefused) {
  ModelBuilder builder(NewestOpset("") + 1);
  builder.Input("x");
  onnx::NodeProto& node = builder.Node("SpaceToDepth", {"x"}, {"y"}, "s");
  test::SetInt(node, "blocksize", 2);
  test::SetInt(node, "later", 1);
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  EXPECT_EQ(graph.status().code(), StatusCode::kNotSupported);
  const std::string text = graph.status().ToString();
  EXPECT_NE(text.find("node 's' (SpaceToDepth): attribute 'later' is not supported"), std::string::npos) << text;
  EXPECT_NE(text.find("newer than SpaceToDepth-28"), std::string::npos) << text;
  EXPECT_NE(text.find("known up to " + std::to_string(NewestOpset(""))), std::string::npos) << text;
}

TEST(Attributes, NoteOfAToolIsKeptWhateverTheOpset) {
  ModelBuilder builder(NewestOpset("") + 1);
  builder.Input("x");
  test::SetInt(builder.Node("Relu", {"x"}, {"y"}), "__note", 5);
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "accepted");
}

TEST(Attributes, AttributeWithoutDeclaredTypeIsReadByItsField) {
  ModelBuilder builder(6);
  builder.model().set_ir_version(1);
  builder.Input("x");
  onnx::AttributeProto& axis = *builder.Node("Softmax", {"x"}, {"y"}).add_attribute();
  axis.set_name("axis");
  axis.set_i(0);
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_TRUE(graph->nodes[0].primitive.Has("axis"));
}

TEST(Attributes, AnAttributeThatIsATypeIsKeptInOnnxNotation) {
  ModelBuilder builder(18);
  onnx::NodeProto& node = builder.Node("Optional", {}, {"y"});
  onnx::TypeProto& type = *test::Attribute(node, "type", onnx::AttributeProto::TYPE_PROTO).mutable_tp();
  type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].primitive.GetString("type", ""), "seq(tensor(float))");
}

}  // namespace
}  // namespace deputy::host
