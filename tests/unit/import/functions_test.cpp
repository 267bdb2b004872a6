// Functions that a model brings along are replaced by their bodies.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::AddNode;
using test::ErrorOf;
using test::ModelBuilder;

onnx::NodeProto& Call(ModelBuilder& builder, const std::string& name, test::Names inputs, test::Names outputs,
                      const std::string& node = "") {
  onnx::NodeProto& call = builder.Node(name, inputs, outputs, node);
  call.set_domain("own");
  return call;
}

// The attribute of a body's node that stands for one of the call.
void Refer(onnx::NodeProto& node, const std::string& name, const std::string& to,
           onnx::AttributeProto::AttributeType type) {
  test::Attribute(node, name, type).set_ref_attr_name(to);
}

TEST(Functions, CallIsReplacedByItsBody) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "Twice", {"a"}, {"b"});
  AddNode(function, "Relu", {"a"}, {"m"});
  AddNode(function, "Add", {"m", "m"}, {"b"});
  builder.Input("x");
  Call(builder, "Twice", {"x"}, {"y"}, "one");
  Call(builder, "Twice", {"y"}, {"z"}, "two");
  builder.Output("z");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->nodes.size(), 4u);
  EXPECT_EQ(graph->values[graph->nodes[0].outputs[0]].name, "one/m");
  EXPECT_EQ(graph->values[graph->nodes[2].outputs[0]].name, "two/m");
  EXPECT_EQ(graph->values[graph->nodes[1].outputs[0]].name, "y");
  EXPECT_EQ(graph->values[graph->outputs[0]].name, "z");
}

TEST(Functions, CallsOfOneNameGetDifferentNames) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  AddNode(function, "Relu", {"a"}, {"m"});
  AddNode(function, "Neg", {"m"}, {"b"});
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"});
  Call(builder, "F", {"y"}, {"z"});
  builder.Output("z");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->values[graph->nodes[0].outputs[0]].name, "F/m");
  EXPECT_EQ(graph->values[graph->nodes[2].outputs[0]].name, "F_2/m");
}

TEST(Functions, AttributesComeFromTheCall) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  Refer(AddNode(function, "LeakyRelu", {"a"}, {"b"}), "alpha", "slope", onnx::AttributeProto::FLOAT);
  builder.Input("x");
  test::Attribute(Call(builder, "F", {"x"}, {"y"}), "slope", onnx::AttributeProto::FLOAT).set_f(0.25f);
  Call(builder, "F", {"y"}, {"z"});
  builder.Output("z");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].primitive.GetFloat("alpha", 0), 0.25f);
  EXPECT_FALSE(graph->nodes[1].primitive.Has("alpha"));
}

TEST(Functions, DefaultOfAnAttributeHolds) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  Refer(AddNode(function, "LeakyRelu", {"a"}, {"b"}), "alpha", "slope", onnx::AttributeProto::FLOAT);
  onnx::AttributeProto fallback;
  fallback.set_name("slope");
  fallback.set_type(onnx::AttributeProto::FLOAT);
  fallback.set_f(0.125f);
  *function.mutable_unknown_fields() += test::Chunk(11, fallback.SerializeAsString());
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].primitive.GetFloat("alpha", 0), 0.125f);
}

TEST(Functions, AttributesPassThroughNestedCalls) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& inner = builder.Function("own", "Inner", {"a"}, {"b"});
  Refer(AddNode(inner, "LeakyRelu", {"a"}, {"b"}), "alpha", "s", onnx::AttributeProto::FLOAT);
  onnx::FunctionProto& outer = builder.Function("own", "Outer", {"a"}, {"b"});
  outer.add_opset_import()->set_domain("own");
  outer.mutable_opset_import(1)->set_version(1);
  onnx::NodeProto& call = AddNode(outer, "Inner", {"a"}, {"b"});
  call.set_domain("own");
  Refer(call, "s", "slope", onnx::AttributeProto::FLOAT);
  builder.Input("x");
  test::Attribute(Call(builder, "Outer", {"x"}, {"y"}), "slope", onnx::AttributeProto::FLOAT).set_f(0.5f);
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].primitive.GetFloat("alpha", 0), 0.5f);
}

TEST(Functions, InputThatTheCallLeavesOutIsLeftOutInside) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a", "low", "high"}, {"b"});
  AddNode(function, "Clip", {"a", "low", "high"}, {"b"});
  builder.Input("x");
  builder.Input("limit", {});
  Call(builder, "F", {"x", "", "limit"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].inputs, (std::vector<ValueId>{0, kNone, 1}));
}

TEST(Functions, InputThatIsHandedOnGetsTheOutputsName) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  builder.Function("own", "F", {"a"}, {"a"});
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].kind(), OpKind::kIdentity);
  EXPECT_EQ(graph->values[graph->outputs[0]].name, "y");
}

TEST(Functions, OperatorsFollowTheOpsetOfTheFunction) {
  ModelBuilder builder(7);
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  AddNode(function, "Add", {"a", "a"}, {"b"});
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes[0].primitive.since_version(), 14);
}

TEST(Functions, BodyDoesNotSeeTheCallersNames) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  AddNode(function, "Add", {"a", "x"}, {"b"});
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"}, "call");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder),
            "the model: node 'call' (F): function 'F': node 0 (Add): reads 'x', which no node produces");
}

TEST(Functions, RequiredAttributeThatTheCallLeavesOutIsRefusedAtTheCall) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  onnx::AttributeProto& to = *AddNode(function, "Cast", {"a"}, {"b"}).add_attribute();
  to.set_name("to");
  to.set_ref_attr_name("type");
  to.set_type(onnx::AttributeProto::INT);
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"}, "call");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node 'call' (F): function 'F': node 0 (Cast): attribute 'to' is missing");
}

TEST(Functions, OutputThatNoNodeProducesIsRefusedAtTheCall) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"zz"});
  AddNode(function, "Relu", {"a"}, {"b"});
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"}, "call");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node 'call' (F): function 'F': output 'zz' is not produced by any node");
}

TEST(Functions, InputsOfOneNameAreRefusedAtTheCall) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  builder.Function("own", "F", {"a", "a"}, {"a"});
  builder.Input("x");
  Call(builder, "F", {"x", "x"}, {"y"}, "call");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node 'call' (F): function 'F': value 'a' is defined more than once");
}

TEST(Functions, OperatorSetsOfAFunctionAreRefusedAtTheCall) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  AddNode(function, "Relu", {"a"}, {"b"});
  function.add_opset_import()->set_version(0);
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"}, "call");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder),
            "the model: node 'call' (F): function 'F': imports the invalid version 0 of operator set ''");
}

TEST(Functions, NodesWithoutANameAreCalledByTheirPlaceInTheFunction) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  AddNode(function, "Relu", {"a"}, {"r"});
  AddNode(function, "Neg", {"r"}, {"b"});
  builder.Input("x");
  builder.Node("Abs", {"x"}, {"w"});
  Call(builder, "F", {"w"}, {"y"}, "call");
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].name, "");
  EXPECT_EQ(graph->nodes[1].name, "call/node 0");
  EXPECT_EQ(graph->nodes[2].name, "call/node 1");
}

TEST(Functions, KnownOperatorIsLeftAlone) {
  ModelBuilder builder;
  onnx::FunctionProto& function = builder.Function("", "Relu", {"a"}, {"b"});
  AddNode(function, "Abs", {"a"}, {"b"});
  builder.Input("x");
  builder.Node("Relu", {"x"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes[0].kind(), OpKind::kRelu);
}

TEST(Functions, R31_FunctionThatCallsItselfIsRefused) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
  function.add_opset_import()->set_domain("own");
  function.mutable_opset_import(1)->set_version(1);
  AddNode(function, "F", {"a"}, {"b"}).set_domain("own");
  builder.Input("x");
  Call(builder, "F", {"x"}, {"y"});
  builder.Output("y");
  EXPECT_NE(ErrorOf(builder).find("function 'F' calls itself"), std::string::npos) << ErrorOf(builder);
}

TEST(Functions, R31_CallsThatMultiplyAreRefused) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  for (int level = 0; level < 20; ++level) {  // 4^20 nodes
    onnx::FunctionProto& function = builder.Function("own", "F" + std::to_string(level), {"a"}, {"b4"});
    function.add_opset_import()->set_domain("own");
    function.mutable_opset_import(1)->set_version(1);
    for (int call = 0; call < 4; ++call) {
      const std::string input = call == 0 ? "a" : "b" + std::to_string(call), output = "b" + std::to_string(call + 1);
      onnx::NodeProto& node =
          AddNode(function, level == 19 ? "Relu" : "F" + std::to_string(level + 1), {input}, {output});
      if (level != 19) node.set_domain("own");
    }
  }
  builder.Input("x");
  Call(builder, "F0", {"x"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kResourceExhausted);
}

TEST(Functions, TwoFunctionsOfOneNameAreRefused) {
  ModelBuilder builder;
  builder.Function("own", "F", {}, {});
  builder.Function("own", "F", {}, {});
  EXPECT_EQ(ErrorOf(builder), "the model: defines function 'F' more than once");
}

TEST(Functions, AttributeReferenceOutsideAFunctionIsRefused) {
  ModelBuilder builder;
  builder.Input("x");
  Refer(builder.Node("LeakyRelu", {"x"}, {"y"}), "alpha", "slope", onnx::AttributeProto::FLOAT);
  builder.Output("y");
  EXPECT_NE(ErrorOf(builder).find("outside of a function"), std::string::npos);
}

// The fields are newer than the types of libonnx 1.12.
void SetOverload(onnx::NodeProto& node, const std::string& overload) {
  *node.mutable_unknown_fields() += test::Chunk(8, overload);
}
void SetOverload(onnx::FunctionProto& function, const std::string& overload) {
  *function.mutable_unknown_fields() += test::Chunk(13, overload);
}

TEST(Functions, OfOneNameAreToldApartByTheirOverload) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  for (const auto& [overload, op] : {std::pair("one", "Neg"), std::pair("two", "Exp"), std::pair("", "Abs")}) {
    onnx::FunctionProto& function = builder.Function("own", "F", {"a"}, {"b"});
    AddNode(function, op, {"a"}, {"b"});
    if (*overload != 0) SetOverload(function, overload);
  }
  builder.Input("x");
  SetOverload(Call(builder, "F", {"x"}, {"u"}), "two");
  SetOverload(Call(builder, "F", {"u"}, {"v"}), "one");
  Call(builder, "F", {"v"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->nodes.size(), 3u);
  EXPECT_EQ(graph->nodes[0].primitive.op_type(), "Exp");
  EXPECT_EQ(graph->nodes[1].primitive.op_type(), "Neg");
  EXPECT_EQ(graph->nodes[2].primitive.op_type(), "Abs");
}

TEST(Functions, R27_AnOverloadThatTheModelDoesNotDefineIsRefused) {
  for (const char* domain : {"own", ""}) {
    ModelBuilder builder;
    builder.ImportDomain("own", 1);
    onnx::FunctionProto& function = builder.Function("own", "Relu", {"a"}, {"b"});
    AddNode(function, "Neg", {"a"}, {"b"});
    builder.Input("x");
    onnx::NodeProto& call = builder.Node("Relu", {"x"}, {"y"}, "call");
    call.set_domain(domain);
    SetOverload(call, "fast");
    builder.Output("y");
    const std::string error = ErrorOf(builder);
    EXPECT_NE(
        error.find("node 'call' (Relu): calls the function 'Relu' of the overload 'fast', which the model does not "
                   "define"),
        std::string::npos)
        << error;
  }
}

TEST(Functions, R24_TwoOfOneNameAndOverloadAreRefused) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  for (int i = 0; i < 2; ++i) SetOverload(builder.Function("own", "F", {"a"}, {"a"}), "one");
  EXPECT_NE(ErrorOf(builder).find("defines function 'F:one' more than once"), std::string::npos) << ErrorOf(builder);
}

}  // namespace
}  // namespace deputy::host
