// Graphs for tests: nodes by name and operator, edges by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"
#include "graph/graph.hpp"
#include "graph/operator.hpp"

namespace deputy::host {

// A node named like its operator, unless it has a name of its own.
inline Node MakeNode(const PrimitiveBuilder& builder, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                     const std::string& name = "") {
  Node node;
  node.primitive = builder.Finish();
  node.name = name.empty() ? node.primitive.op_type() : name;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}
inline Node MakeNode(const char* op, int32_t version, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  return MakeNode(PrimitiveBuilder("", op, version), std::move(inputs), std::move(outputs));
}

// Nodes are added in topological order; each makes one value of its own name. All values are of one type.
class TestGraph {
 public:
  explicit TestGraph(ValueType type = {DType::kFloat32, true, {4}}) : type_(std::move(type)) {}
  // x -> the nodes, which are names and operators, one after another; the last is the output.
  explicit TestGraph(const std::vector<std::pair<std::string, std::string>>& chain,
                     ValueType type = {DType::kFloat32, true, {4}})
      : type_(std::move(type)) {
    std::string last = "x";
    Input(last);
    for (const auto& [name, op] : chain) Node(name, op, {last}), last = name;
    Output(last);
  }

  TestGraph& Input(const std::string& name) {
    graph.inputs.push_back(Value(name));
    return *this;
  }
  // Of the newest definition; of 1 where the operator is not in the list.
  TestGraph& Node(const std::string& name, const std::string& op, const std::vector<std::string>& reads) {
    const OperatorInfo* const info = InfoOf(FindOperator("", op));
    std::vector<ValueId> inputs;
    for (const std::string& read : reads) inputs.push_back(Value(read));
    const PrimitiveBuilder builder("", op, info == nullptr ? 1 : info->newest());
    graph.nodes.push_back(MakeNode(builder, std::move(inputs), {Value(name)}, name));
    return *this;
  }
  TestGraph& Output(const std::string& name) {
    graph.outputs.push_back(Value(name));
    return *this;
  }
  ValueId Value(const std::string& name) {
    const auto [found, fresh] = values_.try_emplace(name, 0);
    if (fresh) found->second = graph.AddValue(name, type_);
    return found->second;
  }

  Graph graph;

 private:
  ValueType type_;
  std::map<std::string, ValueId> values_;
};

// Everything is offered, in the order of the nodes.
inline GraphView OfferAll(const Graph& graph) {
  GraphView view{&graph, {}, std::vector<uint8_t>(graph.nodes.size(), 1)};
  for (NodeId node = 0; node < graph.nodes.size(); ++node) view.order.push_back(node);
  return view;
}

}  // namespace deputy::host
