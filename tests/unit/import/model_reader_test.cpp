#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::ErrorOf;
using test::Find;
using test::GraphBuilder;
using test::ModelBuilder;

std::vector<std::string> OperatorsOf(const Graph& graph) {
  std::vector<std::string> operators;
  for (const Node& node : graph.nodes) operators.emplace_back(node.primitive.op_type());
  return operators;
}

TEST(ModelReader, SmallModelBecomesAGraph) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(OperatorsOf(*graph), (std::vector<std::string>{"Add", "Relu"}));
  ASSERT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(Describe(*graph, graph->values[graph->inputs[0]].type), "float32 [2]");
  ASSERT_EQ(graph->outputs.size(), 1u);
  EXPECT_EQ(graph->values[graph->outputs[0]].name, "y");
}

TEST(ModelReader, NodesHaveTheDefinitionThatTheirOpsetHas) {
  ModelBuilder builder(12);
  test::AddSmallModel(builder);
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes[0].primitive.since_version(), 7);
}

TEST(ModelReader, MetadataIsKept) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  builder.model().set_producer_name("trainer");
  onnx::StringStringEntryProto& entry = *builder.model().add_metadata_props();
  entry.set_key("labels");
  entry.set_value("0,1");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->metadata, (std::vector<std::pair<std::string, std::string>>{
                                 {"producer_name", "trainer"}, {"opset", "17"}, {"labels", "0,1"}}));
}

TEST(ModelReader, NamedExtentsAreSymbols) {
  ModelBuilder builder;
  onnx::ValueInfoProto& x = builder.Input("x", {1, 1, -1});
  x.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  builder.Node("Relu", {"x"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(Describe(*graph, graph->values[0].type), "float32 [N,1,?]");
}

// Paddle's exporter names height and width alike.
TEST(ModelReader, ExtentsNamedByAQuestionMarkAreNotTheSame) {
  ModelBuilder builder;
  onnx::ValueInfoProto& x = builder.Input("x", {1, 1, 1});
  const char* const names[] = {"?", "?", "None"};
  for (int i = 0; i < 3; ++i)
    x.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(i)->set_dim_param(names[i]);
  builder.Node("Relu", {"x"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(graph->symbols.empty());
  EXPECT_EQ(graph->values[0].type.dims, (std::vector<int64_t>{kUnknownDim, kUnknownDim, kUnknownDim}));
}

TEST(ModelReader, InputWithInitializerIsAConstant) {
  ModelBuilder builder;
  builder.Input("w");
  test::AddSmallModel(builder);
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(graph->values[graph->inputs[0]].name, "x");
  EXPECT_TRUE(Find(*graph, "w")->is_constant());
}

TEST(ModelReader, ConstantNodesBecomeConstants) {
  ModelBuilder builder;
  builder.Input("x", {2}, onnx::TensorProto::INT64);
  test::Attribute(builder.Node("Constant", {}, {"i"}), "value_int", onnx::AttributeProto::INT).set_i(3);
  onnx::AttributeProto& list =
      test::Attribute(builder.Node("Constant", {}, {"l"}), "value_ints", onnx::AttributeProto::INTS);
  list.add_ints(4);
  list.add_ints(5);
  builder.Node("Add", {"x", "i"}, {"s"});
  builder.Node("Add", {"s", "l"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(Find(*graph, "i")->type.dims.size(), 0u);
  EXPECT_EQ(Find(*graph, "l")->constant.values<int64_t>()[1], 5);
}

TEST(ModelReader, ConstantOfFloatsAndTensorAreRead) {
  ModelBuilder builder;
  builder.Input("x");
  test::Attribute(builder.Node("Constant", {}, {"f"}), "value_float", onnx::AttributeProto::FLOAT).set_f(0.5f);
  onnx::TensorProto& tensor =
      *test::Attribute(builder.Node("Constant", {}, {"t"}), "value", onnx::AttributeProto::TENSOR).mutable_t();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.set_raw_data(std::string(8, '\0'));
  builder.Node("Add", {"x", "f"}, {"s"});
  builder.Node("Add", {"s", "t"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(Find(*graph, "f")->constant.values<float>()[0], 0.5f);
  EXPECT_EQ(Find(*graph, "t")->type.dims, std::vector<int64_t>{2});
}

TEST(ModelReader, NodesInAnyOrderAreSorted) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Node("Neg", {"b"}, {"y"});
  builder.Node("Abs", {"a"}, {"b"});
  builder.Node("Relu", {"x"}, {"a"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(OperatorsOf(*graph), (std::vector<std::string>{"Relu", "Abs", "Neg"}));
}

TEST(ModelReader, OptionalInputsLeftOutAreNone) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Floats("high", {1}).clear_dims();
  builder.Node("Clip", {"x", "", "high"}, {"m"});
  builder.Node("Clip", {"m", "", ""}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].inputs[1], kNone);
  EXPECT_EQ(graph->nodes[1].inputs.size(), 1u);
}

TEST(ModelReader, ALoopMayHaveATripCountAlone) {
  ModelBuilder builder;
  builder.Input("count", {}, onnx::TensorProto::INT64);
  onnx::NodeProto& loop = builder.Node("Loop", {"count", ""}, {"rounds"});
  GraphBuilder body = test::AddGraph(loop, "body");
  body.Input("round", {}, onnx::TensorProto::INT64);
  body.Input("before", {}, onnx::TensorProto::BOOL);
  body.Node("Identity", {"before"}, {"after"});
  body.Node("Identity", {"round"}, {"made"});
  body.Output("after");
  body.Output("made");
  builder.Output("rounds");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes.back().inputs.size(), 2u);
}

TEST(ModelReader, BranchesCaptureByNameThroughAllLevels) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  builder.Input("c", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto& outer = builder.Node("If", {"c"}, {"z"});
  GraphBuilder other = test::AddGraph(outer, "else_branch");
  other.Node("Neg", {"x"}, {"e"});
  other.Output("e");
  GraphBuilder then = test::AddGraph(outer, "then_branch");
  onnx::NodeProto& inner = then.Node("If", {"c"}, {"t"});
  then.Output("t");
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder body = test::AddGraph(inner, branch);
    body.Node("Abs", {"sum"}, {std::string(branch) + "o"});
    body.Output(std::string(branch) + "o");
  }
  builder.Output("z");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const Node& node = graph->nodes.back();
  ASSERT_EQ(node.regions.size(), 2u);
  const Region& region = node.regions[1];
  ASSERT_EQ(region.name, "then_branch");
  std::vector<std::string> captured;
  for (const ValueId id : region.captures) captured.push_back(graph->values[id].name);
  std::sort(captured.begin(), captured.end());
  EXPECT_EQ(captured, (std::vector<std::string>{"c", "sum"}));
  const Region& nested = region.body->nodes[0].regions[0];
  ASSERT_EQ(nested.captures.size(), 1u);
  EXPECT_EQ(region.body->values[nested.captures[0]].name, "sum");
}

TEST(ModelReader, CaptureMakesTheNodeWaitForIt) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Input("c", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto& node = builder.Node("If", {"c"}, {"z"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder body = test::AddGraph(node, branch);
    body.Node("Abs", {"late"}, {std::string(branch) + "o"});
    body.Output(std::string(branch) + "o");
  }
  builder.Node("Relu", {"x"}, {"late"});
  builder.Output("z");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(OperatorsOf(*graph), (std::vector<std::string>{"Relu", "If"}));
}

TEST(ModelReader, ABranchMayNameItsValueLikeTheResultOfTheIf) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Input("c", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto& node = builder.Node("If", {"c"}, {"z"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder body = test::AddGraph(node, branch);
    body.Node("Abs", {"x"}, {"z"});
    body.Output("z");
  }
  builder.Output("z");
  const Result<Graph> graph = builder.Import();
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
}

TEST(ModelReader, RegionsShareTheSymbols) {
  ModelBuilder builder;
  onnx::ValueInfoProto& x = builder.Input("x", {1});
  x.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  builder.Input("c", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto& node = builder.Node("If", {"c"}, {"z"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder body = test::AddGraph(node, branch);
    body.Node("Abs", {"x"}, {std::string(branch) + "o"});
    body.Output(std::string(branch) + "o");
  }
  builder.Output("z");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes[0].regions[0].body->symbols, graph->symbols);
}

TEST(ModelReader, R10_NoGraphIsRefused) {
  ModelBuilder builder;
  builder.model().clear_graph();
  EXPECT_EQ(ErrorOf(builder), "the model: has no graph");
}

TEST(ModelReader, R10_NoIrVersionIsRefused) {
  ModelBuilder builder;
  builder.model().clear_ir_version();
  EXPECT_NE(ErrorOf(builder).find("not an ONNX model"), std::string::npos);
}

TEST(ModelReader, R10_NoOperatorSetIsRefusedAtTheFirstNode) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  builder.model().clear_opset_import();
  EXPECT_EQ(ErrorOf(builder), "the model: node 'add' (Add): the model does not import operator set ''");
}

TEST(ModelReader, TheDomainOfOnnxRuntimeNeedsNoImport) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Node("Attention", {"x"}, {"y"}).set_domain("com.microsoft");
  builder.Node("Gelu", {"x"}, {"z"}).set_domain("com.microsoft");
  builder.Output("z");
  // Its Attention is not ONNX's, which has three inputs.
  EXPECT_NE(ErrorOf(builder).find("has 1 inputs, Attention-1 needs 2 to 7"), std::string::npos) << ErrorOf(builder);
  builder.model().mutable_graph()->mutable_node()->DeleteSubrange(0, 1);
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].kind(), OpKind::kMicrosoft_Gelu);
  EXPECT_EQ(graph->nodes[0].primitive.since_version(), 1);
}

TEST(ModelReader, R10_OperatorSetImportedInTwoVersionsIsRefused) {
  ModelBuilder builder;
  builder.ImportDomain("ai.onnx", 11);
  EXPECT_NE(ErrorOf(builder).find("imports operator set 'ai.onnx' in two versions, 17 and 11"), std::string::npos)
      << ErrorOf(builder);
}

TEST(ModelReader, OperatorSetImportedTwiceAtOneVersionIsRead) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  for (const char* domain : {"", "ai.onnx", "com.example", "com.example"}) builder.ImportDomain(domain, 17);
  EXPECT_TRUE(builder.Import().ok()) << ErrorOf(builder);
}

TEST(ModelReader, R10_VersionsThatCannotBeAreRefused) {
  for (const int64_t version : {int64_t{0}, int64_t{-1}, int64_t{INT64_MIN}, int64_t{1} << 40}) {
    ModelBuilder builder(version);
    EXPECT_NE(ErrorOf(builder).find("imports the invalid version"), std::string::npos) << version;
  }
}

TEST(ModelReader, R11_NegativeExtentOfAnInputIsRefused) {
  ModelBuilder builder;
  builder.Input("x", {-7});
  EXPECT_NE(ErrorOf(builder).find("input 'x': has the invalid extent -7"), std::string::npos);
}

TEST(ModelReader, R23_CycleIsRefusedAndNamed) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Node("Relu", {"x"}, {"fine"}, "fine");
  builder.Node("Add", {"fine", "c"}, {"a"}, "first");
  builder.Node("Neg", {"a"}, {"b"}, "second");
  builder.Node("Abs", {"b"}, {"c"}, "third");
  builder.Output("c");
  const std::string error = ErrorOf(builder);
  EXPECT_NE(error.find("nodes form a cycle"), std::string::npos) << error;
  for (const char* name : {"first", "second", "third"}) EXPECT_NE(error.find(name), std::string::npos) << error;
  EXPECT_EQ(error.find("fine"), std::string::npos) << error;
}

TEST(ModelReader, R23_NodeThatFeedsItselfIsRefused) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Node("Add", {"x", "y"}, {"y"}, "self");
  builder.Output("y");
  EXPECT_NE(ErrorOf(builder).find("node 'self' (Add) -> node 'self' (Add)"), std::string::npos);
}

TEST(ModelReader, R23_CycleThroughABranchIsRefused) {
  ModelBuilder builder;
  builder.Input("c", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto& node = builder.Node("If", {"c"}, {"z"}, "if");
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder body = test::AddGraph(node, branch);
    body.Node("Abs", {"z"}, {std::string(branch) + "o"});
    body.Output(std::string(branch) + "o");
  }
  builder.Output("z");
  EXPECT_NE(ErrorOf(builder).find("nodes form a cycle"), std::string::npos);
}

TEST(ModelReader, R24_TwoProducersOfOneNameAreRefused) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Node("Relu", {"x"}, {"y"}, "one");
  builder.Node("Neg", {"x"}, {"y"}, "two");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: 'y' is produced by node 'one' (Relu) and by node 'two' (Neg)");
}

TEST(ModelReader, R24_TwoInputsOfOneNameAreRefused) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Input("x");
  EXPECT_NE(ErrorOf(builder).find("'x' is defined more than once"), std::string::npos);
}

TEST(ModelReader, R24_NameInABranchHidesTheOneOutside) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Input("c", {}, onnx::TensorProto::BOOL);
  builder.Node("Relu", {"x"}, {"same"});
  onnx::NodeProto& node = builder.Node("If", {"c"}, {"z"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder body = test::AddGraph(node, branch);
    body.Node("Abs", {"x"}, {"same"});
    body.Output("same");
  }
  builder.Output("z");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const Region& region = graph->nodes.back().regions[0];
  EXPECT_EQ(region.captures,
            graph->inputs.size() == 2 ? std::vector<ValueId>{graph->inputs[0]} : std::vector<ValueId>{});
}

TEST(ModelReader, R25_DanglingInputIsRefusedAtItsNode) {
  ModelBuilder builder;
  builder.Node("Relu", {"ghost"}, {"y"}, "act");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node 'act' (Relu): reads 'ghost', which no node produces");
}

TEST(ModelReader, R25_MissingRequiredInputIsRefusedAtItsNode) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Node("Add", {"x"}, {"y"}, "add");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node 'add' (Add): has 1 inputs, Add-14 needs 2");
}

TEST(ModelReader, R25_OutputThatNoNodeMakesIsRefused) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  builder.Output("ghost");
  EXPECT_EQ(ErrorOf(builder), "the model: output 'ghost' is not produced by any node");
}

TEST(ModelReader, R26_InitializerThatIsAlsoWrittenIsRefused) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Floats("w", {1, 2});
  builder.Node("Relu", {"x"}, {"w"});
  builder.Output("w");
  EXPECT_NE(ErrorOf(builder).find("'w' is defined more than once"), std::string::npos);
}

TEST(ModelReader, R26_OutputThatIsAConstantOrAnInputIsRead) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  builder.Output("w");
  builder.Output("x");
  EXPECT_TRUE(builder.Import().ok()) << ErrorOf(builder);
}

TEST(ModelReader, R27_UnknownOperatorIsReadAsItIs) {
  ModelBuilder builder;
  builder.Input("x");
  builder.ImportDomain("com.vendor", 3);
  onnx::NodeProto& node = builder.Node("Fancy", {"x"}, {"y"}, "f");
  node.set_domain("com.vendor");
  test::SetInt(node, "level", 9);
  builder.Declare("y", {5});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const Primitive& primitive = graph->nodes[0].primitive;
  EXPECT_EQ(primitive.kind(), OpKind::kOther);
  EXPECT_EQ(primitive.domain(), "com.vendor");
  EXPECT_EQ(primitive.since_version(), 3);
  EXPECT_EQ(primitive.GetInt("level", 0), 9);
  EXPECT_EQ(Describe(*graph, graph->values[graph->outputs[0]].type), "float32 [5]");
}

TEST(ModelReader, R27_OperatorNewerThanTheOpsetIsRefused) {
  ModelBuilder builder(7);
  builder.Input("x");
  builder.Node("Mish", {"x"}, {"y"}, "m");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node 'm' (Mish): opset 7 has no Mish, which was added in opset 18");
}

TEST(ModelReader, R35_StringConstantIsRefusedWhereItIsUsed) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  onnx::TensorProto& text = *builder.proto().add_initializer();
  text.set_name("text");
  text.set_data_type(onnx::TensorProto::STRING);
  text.add_string_data("hello");
  EXPECT_TRUE(builder.Import().ok()) << ErrorOf(builder);
  builder.Node("Identity", {"text"}, {"z"}, "reader");
  const std::string error = ErrorOf(builder);
  EXPECT_NE(error.find("node 'reader' (Identity): constant 'text': constants of strings"), std::string::npos) << error;
}

// An input whose type is for the caller to say.
onnx::TypeProto& TypeOfInput(ModelBuilder& builder, const std::string& name) {
  onnx::ValueInfoProto& value = *builder.proto().add_input();
  value.set_name(name);
  return *value.mutable_type();
}

// A float tensor of extents [N,3].
void SetTensor(onnx::TypeProto& type) {
  type.mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("N");
  type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(3);
}

TEST(ModelReader, SequencesAndOptionalsAreRead) {
  ModelBuilder builder;
  SetTensor(*TypeOfInput(builder, "sequence").mutable_sequence_type()->mutable_elem_type());
  SetTensor(*TypeOfInput(builder, "optional").mutable_optional_type()->mutable_elem_type());
  SetTensor(*TypeOfInput(builder, "both")
                 .mutable_optional_type()
                 ->mutable_elem_type()
                 ->mutable_sequence_type()
                 ->mutable_elem_type());
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto described = [&](size_t i) { return Describe(*graph, graph->values[graph->inputs[i]].type); };
  EXPECT_EQ(described(0), "sequence of float32 [?,3]");  // each element may have its own N
  EXPECT_EQ(described(1), "optional float32 [?,3]");
  EXPECT_EQ(described(2), "optional sequence of float32 [?,3]");
}

TEST(ModelReader, SequencesOfOtherThingsThanTensorsAreNotSupported) {
  for (const bool optional : {false, true}) {
    ModelBuilder builder;
    onnx::TypeProto& type = TypeOfInput(builder, "x");
    onnx::TypeProto& outer = optional ? *type.mutable_optional_type()->mutable_elem_type() : type;
    SetTensor(*outer.mutable_sequence_type()->mutable_elem_type()->mutable_sequence_type()->mutable_elem_type());
    EXPECT_EQ(builder.Import().status().code(), StatusCode::kNotSupported) << optional;
  }
}

TEST(ModelReader, OptionalsOfOptionalsAreNotSupported) {
  ModelBuilder builder;
  SetTensor(*TypeOfInput(builder, "x")
                 .mutable_optional_type()
                 ->mutable_elem_type()
                 ->mutable_optional_type()
                 ->mutable_elem_type());
  EXPECT_EQ(builder.Import().status().code(), StatusCode::kNotSupported);
}

TEST(ModelReader, ASequenceOfNoKnownElementsIsRefused) {
  ModelBuilder builder;
  TypeOfInput(builder, "x").mutable_sequence_type();
  EXPECT_EQ(ErrorOf(builder), "the model: input 'x': has no element type");
}

TEST(ModelReader, R36_NamesAreEscapedInMessages) {
  ModelBuilder builder;
  builder.Node("Relu", {"\x1b[31m%n\n"}, {"y"}, "\x07 bell");
  builder.Output("y");
  EXPECT_EQ(ErrorOf(builder), "the model: node '\\x07 bell' (Relu): reads '\\x1b[31m%n\\x0a', which no node produces");
}

TEST(ModelReader, R36_NameOfAMegabyteIsCutInMessages) {
  ModelBuilder builder;
  builder.Node("Relu", {std::string(1 << 20, 'a')}, {"y"});
  builder.Output("y");
  EXPECT_LT(ErrorOf(builder).size(), 500u);
}

TEST(ModelReader, R36_StrangeNamesAreKeptInTheGraph) {
  ModelBuilder builder;
  builder.Input("../../etc\x1b");
  builder.Node("Relu", {"../../etc\x1b"}, {"y"});
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->values[0].name, "../../etc\x1b");
}

TEST(ModelReader, R37_LongChainIsRead) {
  constexpr int kNodes = 100'000;
  ModelBuilder builder;
  builder.Input("0");
  for (int i = kNodes; i > 0; --i) builder.Node("Relu", {std::to_string(i - 1)}, {std::to_string(i)});
  builder.Output(std::to_string(kNodes));
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes.size(), static_cast<size_t>(kNodes));
}

TEST(ModelReader, R37_NodeWithManyInputsIsRead) {
  constexpr int kInputs = 100'000;
  ModelBuilder builder;
  builder.Input("x");
  onnx::NodeProto& node = builder.Node("Sum", {}, {"y"});
  for (int i = 0; i < kInputs; ++i) node.add_input("x");
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes[0].inputs.size(), static_cast<size_t>(kInputs));
}

}  // namespace
}  // namespace deputy::host
