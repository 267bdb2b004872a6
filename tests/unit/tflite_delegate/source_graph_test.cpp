// The nodes that are taken from an interpreter, and the reasons for those that are left to it.
#include "plugins/tflite_delegate/source_graph.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plugins/tflite_abi/builtin_params.hpp"
#include "plugins/tflite_delegate/partition.hpp"
#include "unit/tflite_delegate/fake_interpreter.hpp"

namespace deputy::tflite_delegate {
namespace {

using test::FakeInterpreter;
constexpr int32_t kAdd = 0, kRelu = 19, kReshape = 22, kShape = 77, kWhile = 119, kDelegate = 51;

class SourceGraphTest : public testing::Test {
 protected:
  // Of node `index`; empty: it is taken.
  std::string Reason(int index = 0) {
    Result<SourceGraph> graph = ReadGraph(&interpreter.context);
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    for (const LeftNode& node : graph->left)
      if (node.index == index) return node.reason.empty() ? "left without a reason" : node.reason;
    for (const SourceNode& node : graph->nodes)
      if (node.index == index) return "";
    return "lost";
  }
  void ExpectLeft(const std::string& reason, int index = 0) {
    const std::string said = Reason(index);
    EXPECT_NE(said.find(reason), std::string::npos) << "'" << said << "'";
  }
  int32_t Float(const std::string& name) { return interpreter.AddTensor(name, tflite_abi::kFloat32, {2, 3}); }

  // From tensor "x" to tensor "y", which is the next.
  void AddRelu() {
    const int32_t x = Float("x"), y = Float("y");
    interpreter.AddNode(kRelu, {x}, {y});
  }

  FakeInterpreter interpreter;
};

TEST_F(SourceGraphTest, ANodeIsTakenWithItsTensors) {
  AddRelu();
  Result<SourceGraph> graph = ReadGraph(&interpreter.context);
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->nodes.size(), 1U);
  EXPECT_STREQ(graph->nodes[0].form->name, "RELU");
  EXPECT_EQ(graph->tensors.at(0).name, "x");
  EXPECT_EQ(graph->tensors.at(1).shape, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(graph->plan_size, 1U);
}

TEST_F(SourceGraphTest, QuantizationIsRead) {
  const int32_t x = interpreter.AddTensor("x", tflite_abi::kInt8, {2, 3});
  test::IntList zeros({1, 2, 3});
  const struct {
    int32_t size = 3;
    float values[3] = {0.5F, 1, 2};
  } scales;
  tflite_abi::AffineQuantization affine{
      const_cast<tflite_abi::FloatArray*>(reinterpret_cast<const tflite_abi::FloatArray*>(&scales)), zeros.get(), 1};
  interpreter.tensor(x).quantization = {tflite_abi::kAffine, &affine};
  interpreter.AddNode(kRelu, {x}, {Float("y")});
  Result<SourceGraph> graph = ReadGraph(&interpreter.context);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->tensors.at(x).scales, (std::vector<float>{0.5F, 1, 2}));
  EXPECT_EQ(graph->tensors.at(x).zero_points, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(graph->tensors.at(x).axis, 1);
}

TEST_F(SourceGraphTest, OperatorsWithSubgraphsAndOtherDelegatesAreLeft) {
  interpreter.AddNode(kWhile, {Float("x")}, {Float("y")});
  interpreter.AddNode(kDelegate, {0}, {Float("z")});
  ExpectLeft("has subgraphs", 0);
  ExpectLeft("another delegate", 1);
}

TEST_F(SourceGraphTest, TensorsThatDeputyDoesNotReadAreLeft) {
  interpreter.AddNode(kRelu, {interpreter.AddTensor("text", tflite_abi::kString, {1})}, {Float("y")});
  interpreter.AddNode(kRelu, {interpreter.AddTensor("nibbles", tflite_abi::kInt4, {2})}, {Float("y")});
  ExpectLeft("tensor 'text' has an element type", 0);
  ExpectLeft("tensor 'nibbles' has elements of 4 bits", 1);
}

TEST_F(SourceGraphTest, VariablesSparseTensorsAndOtherQuantizationAreLeft) {
  const int32_t variable = Float("state"), sparse = Float("sparse"), block = Float("block");
  int something = 0;
  interpreter.tensor(variable).is_variable = true;
  interpreter.tensor(sparse).sparsity = &something;
  interpreter.tensor(block).quantization.type = static_cast<tflite_abi::QuantizationType>(2);
  for (const int32_t input : {variable, sparse, block}) interpreter.AddNode(kRelu, {input}, {Float("y")});
  ExpectLeft("tensor 'state' is a variable", 0);
  ExpectLeft("tensor 'sparse' is sparse", 1);
  ExpectLeft("quantization of type 2", 2);
}

TEST_F(SourceGraphTest, TensorIndicesOutOfRangeAreLeft) {
  interpreter.AddNode(kRelu, {Float("x")}, {100});
  interpreter.AddNode(kRelu, {-1}, {-1});
  ExpectLeft("tensor index 100", 0);
  ExpectLeft("tensor index -1", 1);
}

TEST_F(SourceGraphTest, ShapesThatDependOnValuesAreLeft) {
  std::vector<int32_t> shape{6};
  tflite_abi::ReshapeParams params{};
  const int32_t computed = interpreter.AddTensor("shape", tflite_abi::kInt32, {1});
  const int32_t constant = interpreter.AddTensor("fixed", tflite_abi::kInt32, {1}, shape.data(), 4);
  interpreter.AddNode(kReshape, {Float("x"), computed}, {Float("y")}, &params);
  interpreter.AddNode(kReshape, {Float("x"), constant}, {Float("y")}, &params);
  ExpectLeft("values of input 1", 0);
  EXPECT_EQ(Reason(1), "");
}

TEST_F(SourceGraphTest, NodesThatComputeAShapeAreLeftUpToTheShape) {
  tflite_abi::ActivationParams add{};
  tflite_abi::ReshapeParams params{};
  const int32_t x = Float("x"), y = Float("y");
  const int32_t shape = interpreter.AddTensor("shape", tflite_abi::kInt32, {2}),
                sum = interpreter.AddTensor("sum", tflite_abi::kInt32, {2});
  interpreter.AddNode(kRelu, {x}, {y});
  interpreter.AddNode(kShape, {y}, {shape});
  interpreter.AddNode(kAdd, {shape, shape}, {sum}, &add);
  interpreter.AddNode(kReshape, {y, sum}, {Float("z")}, &params);
  EXPECT_EQ(Reason(0), "");
  ExpectLeft("known from the shape", 1);
  ExpectLeft("computes the shape of another", 2);
  ExpectLeft("depends on the values", 3);
}

TEST_F(SourceGraphTest, AnInterpreterThatFailsIsAnError) {
  AddRelu();
  interpreter.order = {5};
  EXPECT_EQ(ReadGraph(&interpreter.context).status().code(), StatusCode::kUnavailable);
  interpreter.fails_plan = true;
  EXPECT_EQ(ReadGraph(&interpreter.context).status().code(), StatusCode::kUnavailable);
}

class PartitionsTest : public SourceGraphTest {
 protected:
  std::vector<std::shared_ptr<Partition>> Build(const std::vector<std::string>& settings = {}) {
    Result<SourceGraph> read = ReadGraph(&interpreter.context);
    EXPECT_TRUE(read.ok());
    graph = std::make_shared<SourceGraph>(*read);
    const ConfigSources sources{{"cpu-only"}, settings};
    Result<deputy::Context> context = deputy::Context::FromLayers(sources);
    EXPECT_TRUE(context.ok()) << context.status().ToString();
    Result<std::vector<std::shared_ptr<Partition>>> made =
        BuildPartitions(&interpreter.context, graph, *context, sources);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? *made : std::vector<std::shared_ptr<Partition>>();
  }

  std::shared_ptr<SourceGraph> graph;
};

TEST_F(PartitionsTest, NeighboursAreOnePartitionThatRuns) {
  const int32_t x = Float("x"), y = Float("y"), z = Float("z");
  tflite_abi::ActivationParams params{};
  interpreter.AddNode(kRelu, {x}, {y});
  interpreter.AddNode(kAdd, {y, x}, {z}, &params);
  interpreter.outputs = {z};
  const auto partitions = Build();
  ASSERT_EQ(partitions.size(), 1U);
  EXPECT_EQ(partitions[0]->NodeIndices(), (std::vector<int>{0, 1}));
  EXPECT_EQ(partitions[0]->output_dims(), (std::vector<Dims>{{2, 3}}));
  const float values[] = {-1, 2, -3, 4, -5, 6};
  std::vector<deputy::Tensor> outputs;
  const Result<deputy::Tensor> input = deputy::Tensor::FromValues<float>(DType::kFloat32, {2, 3}, values);
  ASSERT_TRUE(partitions[0]->session().Predict({*input}, &outputs).ok());
  EXPECT_EQ(outputs[0].values<float>()[0], -1);
  EXPECT_EQ(outputs[0].values<float>()[1], 4);
}

TEST_F(PartitionsTest, OtherShapesOfTheInputsAreBuiltAgain) {
  AddRelu();
  interpreter.outputs = {1};
  const auto partitions = Build();
  ASSERT_EQ(partitions.size(), 1U);
  ASSERT_TRUE(partitions[0]->Rebuild({{5, 3}}).ok());
  EXPECT_EQ(partitions[0]->input_dims(), (std::vector<Dims>{{5, 3}}));
  EXPECT_EQ(partitions[0]->output_dims(), (std::vector<Dims>{{5, 3}}));
}

TEST_F(PartitionsTest, ANodeThatTheImporterRefusesIsLeftAndTheOthersStay) {
  const int32_t x = Float("x"), y = Float("y"), z = Float("z"), w = Float("w");
  tflite_abi::ActivationParams params{};
  interpreter.AddNode(kRelu, {x}, {y});
  interpreter.AddNode(kAdd, {y, x}, {z}, &params);
  interpreter.registrations[1].version = 99;
  interpreter.AddNode(kRelu, {z}, {w});
  interpreter.outputs = {w};
  const auto partitions = Build();
  EXPECT_EQ(partitions.size(), 2U);
  ASSERT_EQ(graph->left.size(), 1U);
  EXPECT_EQ(graph->left[0].index, 1);
  EXPECT_NE(graph->left[0].reason.find("version"), std::string::npos) << graph->left[0].reason;
}

TEST_F(PartitionsTest, WithoutFallbackNodesOfTheCpuAreLeft) {
  AddRelu();
  interpreter.outputs = {1};
  EXPECT_TRUE(Build({"fallback=none"}).empty());
  ASSERT_EQ(graph->left.size(), 1U);
  EXPECT_NE(graph->left[0].reason.find("no fallback"), std::string::npos) << graph->left[0].reason;
}

TEST_F(PartitionsTest, NodesOfTheModelAreFoundInTheInterpreter) {
  interpreter.AddNode(kWhile, {Float("a")}, {Float("b")});
  AddRelu();
  interpreter.outputs = {3};
  const auto partitions = Build();
  ASSERT_EQ(partitions.size(), 1U);
  const auto source_of = [&](const std::string& name) {
    return SourceOf(partitions[0]->graph(), partitions[0]->subset(), name);
  };
  EXPECT_EQ(source_of("RELU_0/Relu"), 1);
  for (const char* name : {"RELU_1/Relu", "RELU_x/Relu", "RELU_/Relu", "RELU", "", "/"})
    EXPECT_EQ(source_of(name), -1) << name;
}

}  // namespace
}  // namespace deputy::tflite_delegate
