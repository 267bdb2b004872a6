// Graphs of ONNX Runtime written as ONNX: what is written is read by the importer, and runs.
#include "plugins/onnxruntime_ep/model_writer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "deputy/deputy.hpp"

namespace ort_ep {
namespace {

using deputy::DType;

Value MakeValue(std::string name, std::vector<int64_t> dims, DType dtype = DType::kFloat32) {
  Value value;
  value.name = std::move(name);
  value.dtype = dtype;
  value.is_tensor = value.has_shape = true;
  value.symbols.assign(dims.size(), "");
  value.dims = std::move(dims);
  return value;
}

Value MakeConstant(std::string name, std::vector<int64_t> dims, const std::vector<float>& values) {
  Value value = MakeValue(std::move(name), dims);
  value.is_constant = true;
  value.constant = {DType::kFloat32,
                    std::move(dims),
                    {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)},
                    nullptr};
  return value;
}

Node MakeNode(std::string name, std::string op_type, std::vector<size_t> inputs, std::vector<size_t> outputs) {
  Node node;
  node.name = std::move(name);
  node.op_type = std::move(op_type);
  node.since_version = 13;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

const std::vector<float> kScale = {2, 3};

// y = LeakyRelu(x * scale), and z = -(x * scale)
Graph ScaledGraph() {
  Graph graph;
  graph.ir_version = 8;
  graph.opsets = {{"", 17}, {"com.microsoft", 1}};
  graph.values = {MakeValue("x", {-1, 2}), MakeConstant("scale", {2}, kScale), MakeValue("m", {-1, 2}),
                  MakeValue("y", {-1, 2}), MakeValue("z", {-1, 2})};
  graph.values[0].symbols[0] = "batch";
  graph.nodes = {MakeNode("mul", "Mul", {0, 1}, {2}), MakeNode("leaky", "LeakyRelu", {2}, {3}),
                 MakeNode("neg", "Neg", {2}, {4})};
  graph.nodes[1].attributes = {{"alpha", 0.5F}};
  graph.inputs = {0};
  graph.outputs = {3, 4};
  return graph;
}

deputy::Context CpuOnly() {
  return *deputy::Context::FromYamlText("cpu.yaml",
                                        "version: 1\nplugins: {paths: [/nonexistent]}\ncache: {dir: \"off\"}\n"
                                        "log: {level: error}\ndelegates: []\n");
}

deputy::Model Build(const WrittenModel& written) {
  deputy::Model model;
  const std::string bytes = written.Bytes();
  const deputy::Status status = model.Build(bytes.data(), bytes.size(), deputy::ModelType::kOnnx, CpuOnly());
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

std::vector<std::string> NamesOf(const std::vector<deputy::TensorInfo>& infos) {
  std::vector<std::string> names;
  for (const deputy::TensorInfo& info : infos) names.push_back(info.name);
  return names;
}

TEST(WriteModel, WhatIsWrittenComputesTheSame) {
  const deputy::Result<WrittenModel> written = WriteModel(ScaledGraph(), {0, 1, 2});
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  const deputy::Model model = Build(*written);
  EXPECT_EQ(NamesOf(model.inputs()), std::vector<std::string>{"x"});
  EXPECT_EQ(NamesOf(model.outputs()), (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(model.inputs()[0].dims, (std::vector<std::string>{"batch", "2"}));
  std::vector<deputy::Tensor> outputs;
  const std::vector<float> x = {1, -1};
  const deputy::Status ran =
      model.CreateSession()->Predict({*deputy::Tensor::FromValues<float>(DType::kFloat32, {1, 2}, x)}, &outputs);
  ASSERT_TRUE(ran.ok()) << ran.ToString();
  EXPECT_EQ(outputs[0].values<float>()[0], 2.0F);
  EXPECT_EQ(outputs[0].values<float>()[1], -1.5F);
  EXPECT_EQ(outputs[1].values<float>()[1], 3.0F);
}

TEST(WriteModel, AValueThatOtherNodesReadIsAnOutput) {
  const deputy::Result<WrittenModel> written = WriteModel(ScaledGraph(), {0, 1});
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(NamesOf(Build(*written).outputs()), (std::vector<std::string>{"m", "y"}));
}

TEST(WriteModel, TheKeyIsThatOfTheSameNodesInAnyOrderAndOfNoOthers) {
  const Graph graph = ScaledGraph();
  Graph turned = graph;
  std::swap(turned.nodes[1], turned.nodes[2]);
  std::swap(turned.outputs[0], turned.outputs[1]);
  EXPECT_EQ(WriteModel(graph, {0, 1, 2})->key(), WriteModel(turned, {2, 1, 0})->key());
  EXPECT_EQ(WriteModel(graph, {0, 1, 2})->Bytes(), WriteModel(turned, {0, 1, 2})->Bytes());
  EXPECT_NE(WriteModel(graph, {0, 1, 2})->key(), WriteModel(graph, {0, 1})->key());
  turned.nodes[2].attributes = {{"alpha", 0.25F}};
  EXPECT_NE(WriteModel(graph, {0, 1, 2})->key(), WriteModel(turned, {0, 1, 2})->key());
}

TEST(WriteModel, TheKeyHasNoElements) {
  const WrittenModel written = *WriteModel(ScaledGraph(), {0, 1, 2});
  EXPECT_EQ(written.Bytes().size(), written.key().size() + kScale.size() * sizeof(float));
}

TEST(WriteModel, ASubgraphIsWrittenWithItsNode) {
  Graph branch;
  branch.ir_version = 8;
  branch.opsets = {{"", 17}};
  branch.values = {MakeValue("x", {2}), MakeValue("b", {2})};
  branch.nodes = {MakeNode("exp", "Exp", {0}, {1})};
  branch.outputs = {1};
  Graph other = branch;
  other.values[1].name = "c";
  other.nodes[0] = MakeNode("abs", "Abs", {0}, {1});
  Graph graph;
  graph.ir_version = 8;
  graph.opsets = {{"", 17}};
  graph.values = {MakeValue("condition", {}, DType::kBool), MakeValue("x", {2}), MakeValue("y", {2})};
  graph.nodes = {MakeNode("if", "If", {0}, {2})};
  graph.nodes[0].captured = {1};
  graph.nodes[0].subgraphs = {{"then_branch", std::make_shared<const Graph>(branch)},
                              {"else_branch", std::make_shared<const Graph>(other)}};
  graph.inputs = {0, 1};
  graph.outputs = {2};
  const deputy::Result<WrittenModel> written = WriteModel(graph, {0});
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  const deputy::Model model = Build(*written);
  std::vector<deputy::Tensor> outputs;
  const std::vector<float> x = {-2, -3};
  const std::vector<uint8_t> no = {0};
  const deputy::Status ran =
      model.CreateSession()->Predict({*deputy::Tensor::FromValues<uint8_t>(DType::kBool, {}, no),
                                      *deputy::Tensor::FromValues<float>(DType::kFloat32, {2}, x)},
                                     &outputs);
  ASSERT_TRUE(ran.ok()) << ran.ToString();
  EXPECT_EQ(outputs[0].values<float>()[1], 3.0F);
}

TEST(WriteModel, AnAttributeThatCannotBeReadIsRefusedByName) {
  Graph graph = ScaledGraph();
  graph.nodes[1].attributes.push_back({"sparse", {}});
  const deputy::Result<WrittenModel> written = WriteModel(graph, {0, 1, 2});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.status().code(), deputy::StatusCode::kNotSupported);
  EXPECT_NE(written.status().ToString().find("node 'leaky': attribute 'sparse'"), std::string::npos);
}

TEST(WriteModel, NodesWithoutAResultAreRefused) {
  Graph graph = ScaledGraph();
  graph.outputs = {4};
  const deputy::Result<WrittenModel> written = WriteModel(graph, {1});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.status().code(), deputy::StatusCode::kNotSupported);
}

}  // namespace
}  // namespace ort_ep
