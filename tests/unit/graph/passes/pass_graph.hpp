// Small graphs for tests of passes: built in a few lines, run node by node with the CPU's kernels, compared before and
// after.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cpu/delegate.hpp"
#include "graph/definition.hpp"
#include "graph/graph.hpp"
#include "graph/passes/passes.hpp"

namespace deputy::host {

using Dims = std::vector<int64_t>;

template <class T>
Tensor Values(DType dtype, Shape shape, const std::vector<T>& values) {
  return Tensor::FromValues<T>(dtype, std::move(shape), std::span<const T>(values)).value();
}
inline Tensor Floats(Shape shape, const std::vector<float>& values) {
  return Values(DType::kFloat32, std::move(shape), values);
}
inline Tensor Ints(const std::vector<int64_t>& values) {
  return Values(DType::kInt64, {static_cast<int64_t>(values.size())}, values);
}
inline Tensor Int(int64_t value) { return Values<int64_t>(DType::kInt64, {}, {value}); }

// Numbers that look random and are the same everywhere, between -1 and 1.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t Next() { return (state_ = state_ * 6364136223846793005u + 1442695040888963407u) >> 33; }
  size_t Below(size_t limit) { return static_cast<size_t>(Next() % limit); }
  float Float() { return static_cast<float>(Next() % 20001) / 10000.0f - 1.0f; }
  Tensor Floats(const Shape& shape, float scale = 1, float offset = 0) {
    Tensor tensor = Tensor::Allocate(DType::kFloat32, shape).value();
    for (float& value : tensor.mutable_values<float>()) value = Float() * scale + offset;
    return tensor;
  }

 private:
  uint64_t state_;
};

class PassGraph {
 public:
  ValueId Input(const std::string& name, Dims dims, DType dtype = DType::kFloat32) {
    graph.inputs.push_back(graph.AddValue(name, {dtype, true, std::move(dims)}));
    return graph.inputs.back();
  }
  ValueId Constant(Tensor tensor, const std::string& name = "c") { return graph.AddConstant(name, std::move(tensor)); }
  // A node named like its operator, whose first output is returned.
  ValueId Node(const PrimitiveBuilder& builder, std::vector<ValueId> inputs, size_t outputs = 1) {
    host::Node& node = graph.nodes.emplace_back();
    node.primitive = builder.Finish();
    node.name = std::string(node.primitive.op_type()) + std::to_string(graph.nodes.size());
    node.inputs = std::move(inputs);
    for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(graph.AddValue(node.name + "_" + std::to_string(i)));
    return node.outputs[0];
  }
  ValueId Node(const char* op, std::vector<ValueId> inputs) {
    return Node(PrimitiveBuilder("", op, InfoOf(FindOperator("", op))->newest()), std::move(inputs));
  }
  ValueId Transpose(ValueId input, Dims perm) {
    return Node(PrimitiveBuilder("", "Transpose", 13).Set("perm", std::move(perm)), {input});
  }
  void Output(ValueId id) { graph.outputs.push_back(id); }

  Graph graph;
};

// Whether each node is as its definition says, after it was rewritten too.
inline Status CheckDefinitions(const Graph& graph) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    std::vector<ValueType> inputs, outputs;
    for (const ValueId value : node.inputs) inputs.push_back(value == kNone ? ValueType() : graph.values[value].type);
    for (const ValueId value : node.outputs) outputs.push_back(value == kNone ? ValueType() : graph.values[value].type);
    Status status = CheckAttributes(node.primitive, inputs);
    if (status.ok()) status = CheckElementTypes(node.primitive, inputs, outputs);
    if (!status.ok()) return std::move(status).At(Describe(graph, id));
    for (const Region& region : node.regions) DEPUTY_RETURN_IF_ERROR(CheckDefinitions(*region.body));
  }
  return {};
}

// All passes unless told otherwise.
inline Graph Passed(Graph graph, PassOptions options = {}) {
  options.evaluator = MakeCpuEvaluator();
  const Status before = VerifyGraph(graph);
  EXPECT_TRUE(before.ok()) << before.ToString();
  const Status status = RunPasses(graph, options);
  EXPECT_TRUE(status.ok()) << status.ToString();
  const Status after = VerifyGraph(graph);
  EXPECT_TRUE(after.ok()) << after.ToString();
  const Status defined = CheckDefinitions(graph);
  EXPECT_TRUE(defined.ok()) << defined.ToString();
  return graph;
}

// Only types and Constants; the graph as it would run without passes.
inline PassOptions NoPasses() {
  PassOptions options;
  for (const PassInfo& info : AllPasses()) options.Off(info.pass);
  return options;
}

// One pass alone.
inline PassOptions Only(Pass pass) {
  PassOptions options = NoPasses();
  options.off[static_cast<size_t>(pass)] = false;
  return options;
}

// The outputs for these inputs.
inline std::vector<Tensor> Evaluated(const Graph& graph, const std::vector<Tensor>& inputs) {
  const Evaluator evaluate = MakeCpuEvaluator();
  std::vector<Tensor> values(graph.values.size());
  for (size_t id = 0; id < values.size(); ++id) values[id] = graph.values[id].constant;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> operands;
    for (const ValueId id : node.inputs) operands.push_back(id == kNone ? Tensor() : values[id]);
    Result<std::vector<Tensor>> made = evaluate(node, operands);
    if (!made.ok()) {
      ADD_FAILURE() << node.name << ": " << made.status().ToString();
      return std::vector<Tensor>(graph.outputs.size());
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNone) values[node.outputs[i]] = (*made)[i];
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(values[id]);
  return outputs;
}

// Extents are the same and float32 elements nearly.
inline void ExpectClose(const std::vector<Tensor>& got, const std::vector<Tensor>& want, float tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), want[i].shape()) << "output " << i;
    ASSERT_EQ(got[i].dtype(), want[i].dtype()) << "output " << i;
    if (got[i].dtype() != DType::kFloat32) continue;
    for (size_t j = 0; j < got[i].values<float>().size(); ++j) {
      const float a = got[i].values<float>()[j], b = want[i].values<float>()[j];
      if (std::isnan(a) && std::isnan(b)) continue;
      ASSERT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(b))) << "output " << i << ", element " << j;
    }
  }
}

// The same numbers with and without the passes.
inline void ExpectSameNumbers(const PassGraph& made, const std::vector<Tensor>& inputs, const PassOptions& options = {},
                              float tolerance = 1e-5f) {
  ExpectClose(Evaluated(Passed(made.graph, options), inputs), Evaluated(Passed(made.graph, NoPasses()), inputs),
              tolerance);
}

// "Conv,Relu": the operators in order.
inline std::string Operators(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : ",") + std::string(node.primitive.op_type());
  return text;
}

}  // namespace deputy::host
