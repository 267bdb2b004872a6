// A host for one plugin that shows it a PluginGraph, and asks nothing of the graph but what the ABI says of graphs in
// general: nodes in topological order, each value made once, numbers of values that exist.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/partition_helpers.h"
#include "fuzz/plugin_graph.hpp"

struct deputy_status {
  deputy_code code;
  std::string message;
};

namespace deputy::fuzz {

class ShownGraph {
 public:
  explicit ShownGraph(const PluginGraph& graph);
  ShownGraph(const ShownGraph&) = delete;
  ShownGraph& operator=(const ShownGraph&) = delete;

  const deputy_graph* handle() const { return reinterpret_cast<const deputy_graph*>(this); }
  const std::deque<deputy_node_info>& nodes() const { return nodes_; }
  const std::deque<deputy_value_info>& values() const { return values_; }
  const std::vector<deputy_value_id>& inputs() const { return inputs_; }
  const std::vector<deputy_value_id>& outputs() const { return outputs_; }

  // Inputs and outputs of a partition of these nodes, as the ABI defines them.
  struct Border {
    std::vector<deputy_value_id> inputs, outputs;
  };
  Border BorderOf(const std::vector<deputy_node_id>& nodes) const;
  // Is there no path out of these nodes and back?
  bool IsClosed(const std::vector<deputy_node_id>& nodes) const;
  // Nodes with their neighbours DequantizeLinear and QuantizeLinear.
  std::vector<std::vector<deputy_node_id>> QuantizedGroups() const;

 private:
  void AddValue(const PluginGraph::Value& value);
  void AddNode(const PluginGraph::Node& node);

  PluginGraph graph_;
  std::deque<deputy_value_info> values_;
  std::deque<deputy_node_info> nodes_;
  std::vector<deputy_value_id> inputs_, outputs_;
  std::vector<bool> made_;  // by value: can be read by the next node
  std::vector<deputy_node_id> maker_;
  std::deque<std::vector<deputy_value_id>> lists_;
  std::vector<std::unique_ptr<unsigned char[]>> constants_;  // of exactly the bytes that they have
  std::deque<std::vector<uint64_t>> primitives_;             // words, so that they are aligned
};

// The host's table; it serves every ShownGraph.
const deputy_host* ShowingHost();

// The element type's bytes; 1 for types of less than a byte and unknown ones.
size_t BytesPerElement(int32_t dtype);

}  // namespace deputy::fuzz
