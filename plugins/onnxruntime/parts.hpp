// Parts of a graph: nodes with the values that they read from outside, and those that others read of theirs.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "deputy/sdk/onnx_writer.hpp"
#include "provider.hpp"

namespace ort {

class Part {
 public:
  Part(const sdk::GraphView& graph, std::vector<deputy_node_id> nodes, std::vector<deputy_value_id> inputs,
       std::vector<deputy_value_id> outputs)
      : graph_(&graph), nodes_(std::move(nodes)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  // `nodes` in topological order; `wanted`: values that are read outside.
  static Part Of(const sdk::GraphView& graph, const std::vector<sdk::NodeView>& nodes,
                 const std::set<deputy_value_id>& wanted) {
    std::vector<deputy_node_id> ids;
    std::set<deputy_value_id> made, read;
    std::vector<deputy_value_id> inputs, outputs;
    for (const sdk::NodeView& node : nodes) {
      ids.push_back(node.id());
      for (size_t i = 0; i < node.input_count(); ++i)
        if (const sdk::ValueView value = node.input(i);
            value.exists() && !value.is_constant() && made.count(value.id()) == 0 && read.insert(value.id()).second)
          inputs.push_back(value.id());
      for (size_t i = 0; i < node.output_count(); ++i)
        if (const sdk::ValueView value = node.output(i); value.exists()) made.insert(value.id());
    }
    for (const deputy_value_id value : made)
      if (wanted.count(value) != 0) outputs.push_back(value);
    std::sort(inputs.begin(), inputs.end());
    return Part(graph, std::move(ids), std::move(inputs), std::move(outputs));
  }

  // Values that nodes of the graph outside of `nodes` read, and the graph's outputs.
  static std::set<deputy_value_id> ReadOutside(const sdk::GraphView& graph, const std::vector<sdk::NodeView>& nodes) {
    std::set<deputy_node_id> inside;
    for (const sdk::NodeView& node : nodes) inside.insert(node.id());
    std::set<deputy_value_id> wanted;
    for (const sdk::ValueView& value : graph.Outputs()) wanted.insert(value.id());
    for (size_t i = 0; i < graph.node_count(); ++i) {
      const sdk::NodeView node = graph.NodeAt(i);
      if (inside.count(node.id()) != 0) continue;
      for (size_t k = 0; k < node.input_count(); ++k)
        if (const sdk::ValueView value = node.input(k); value.exists()) wanted.insert(value.id());
    }
    return wanted;
  }

  sdk::PartitionView View() const {
    deputy_partition partition{};
    partition.struct_size = sizeof partition;
    partition.node_count = static_cast<uint32_t>(nodes_.size());
    partition.nodes = nodes_.data();
    partition.input_count = static_cast<uint32_t>(inputs_.size());
    partition.inputs = inputs_.data();
    partition.output_count = static_cast<uint32_t>(outputs_.size());
    partition.outputs = outputs_.data();
    return sdk::PartitionView(*graph_, partition);
  }

 private:
  const sdk::GraphView* graph_;
  std::vector<deputy_node_id> nodes_;
  std::vector<deputy_value_id> inputs_, outputs_;
};

// As sdk::WriteOnnx, but equal partitions give equal bytes, also of another name or with their values in another order.
inline sdk::Result<sdk::OnnxModel> WriteComparable(const sdk::PartitionView& partition) {
  const auto sorted = [](const std::vector<sdk::ValueView>& values) {
    std::vector<deputy_value_id> ids;
    for (const sdk::ValueView& value : values) ids.push_back(value.id());
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  const auto in_order = [](const std::vector<sdk::ValueView>& values, const std::vector<deputy_value_id>& ids,
                           const std::vector<std::string>& names) {
    std::vector<std::string> ordered;
    for (const sdk::ValueView& value : values)
      ordered.push_back(names[static_cast<size_t>(std::lower_bound(ids.begin(), ids.end(), value.id()) - ids.begin())]);
    return ordered;
  };
  std::vector<deputy_node_id> nodes;
  for (const sdk::NodeView& node : partition.nodes()) nodes.push_back(node.id());
  const std::vector<deputy_value_id> inputs = sorted(partition.inputs()), outputs = sorted(partition.outputs());
  DEPUTY_SDK_ASSIGN_OR_RETURN(sdk::OnnxModel model,
                              sdk::WriteOnnx(Part(partition.graph(), std::move(nodes), inputs, outputs).View()));
  model.inputs = in_order(partition.inputs(), inputs, model.inputs);
  model.outputs = in_order(partition.outputs(), outputs, model.outputs);
  return model;
}

}  // namespace ort
