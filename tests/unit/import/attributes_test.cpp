#include <gtest/gtest.h>

#include <algorithm>
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

onnx::AttributeProto::AttributeType ProtoTypeOf(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kInt: return onnx::AttributeProto::INT;
    case AttributeKind::kFloat: return onnx::AttributeProto::FLOAT;
    case AttributeKind::kString: return onnx::AttributeProto::STRING;
    case AttributeKind::kInts: return onnx::AttributeProto::INTS;
    case AttributeKind::kFloats: return onnx::AttributeProto::FLOATS;
    case AttributeKind::kStrings: return onnx::AttributeProto::STRINGS;
    case AttributeKind::kTensor: return onnx::AttributeProto::TENSOR;
  }
  return onnx::AttributeProto::UNDEFINED;
}

// The node of this definition with the attribute, as it was imported.
Result<Graph> ImportWith(const OperatorInfo& info, int32_t since, const OperatorAttribute& attribute) {
  ModelBuilder builder(info.domain.empty() ? since : 17);
  if (!info.domain.empty()) builder.ImportDomain(std::string(info.domain), since);
  const OperandCounts counts = info.CountsAt(since);
  onnx::NodeProto& node = builder.Node(std::string(info.name), {}, {}, "n");
  node.set_domain(std::string(info.domain));
  for (uint32_t i = 0; i < counts.min_inputs; ++i) {
    node.add_input("x" + std::to_string(i));
    builder.Input(node.input(static_cast<int>(i)));
  }
  for (uint32_t i = 0; i < std::max(1u, info.min_outputs); ++i) {
    node.add_output("y" + std::to_string(i));
    builder.Output(node.output(static_cast<int>(i)));
  }
  onnx::AttributeProto& added = test::Attribute(node, std::string(attribute.name), ProtoTypeOf(attribute.kind));
  added.set_i(1);
  if (attribute.kind == AttributeKind::kTensor) {
    added.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
    added.mutable_t()->add_float_data(1);
  }
  return builder.Import();
}

TEST(Attributes, ThoseOfOtherDefinitionsHaveNoEffect) {
  size_t tried = 0;
  for (const OperatorInfo& info : AllOperators()) {
    const OpKind kind = FindOperator(info.domain, info.name);
    if (kind == OpKind::kIf || kind == OpKind::kLoop || kind == OpKind::kScan || kind == OpKind::kConstant) continue;
    for (const OperatorDefinition& definition : info.definitions)
      for (const OperatorAttribute& attribute : info.attributes) {
        const int32_t since = definition.since_version;
        const bool is_its_own =
            std::any_of(info.attributes.begin(), info.attributes.end(), [&](const OperatorAttribute& one) {
              return one.name == attribute.name && since >= one.since_version && since < one.until_version;
            });
        if (is_its_own) continue;
        const Result<Graph> graph = ImportWith(info, since, attribute);
        ASSERT_TRUE(graph.ok()) << graph.status().ToString();
        const std::string text =
            std::string(info.name) + "-" + std::to_string(since) + " " + std::string(attribute.name);
        EXPECT_FALSE(graph->nodes[0].primitive.Has(attribute.name)) << text;
        ASSERT_EQ(graph->warnings.size(), 1u) << text;
        EXPECT_NE(graph->warnings[0].find("has no attribute '" + std::string(attribute.name) + "'"), std::string::npos)
            << graph->warnings[0];
        ++tried;
      }
  }
  EXPECT_GT(tried, 100u);
}

}  // namespace
}  // namespace deputy::host
