// A graph while a pass rewrites it: the node that makes a value, its number of reads, and its replacement. Every step
// takes constant time; Finish updates the nodes in one walk.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host {

class GraphEditor {
 public:
  explicit GraphEditor(Graph& graph);

  const Graph& graph() const { return graph_; }
  Node& node(NodeId id) { return graph_.nodes[id]; }
  const Value& value(ValueId id) const { return graph_.values[id]; }

  // The current replacement of `id`.
  ValueId Resolve(ValueId id);
  // Updates the inputs and captures of a node; call it before reading them.
  void ResolveReads(Node& node);

  // Node that makes the value; kNone for inputs, captures and constants.
  NodeId producer(ValueId id) const { return producers_[id]; }
  // Reads by nodes and regions, and by the graph's outputs.
  uint32_t uses(ValueId id) const { return uses_[id]; }
  bool is_output(ValueId id) const { return outputs_[id] != 0; }
  bool removed(NodeId id) const { return removed_[id] != 0; }

  // Removes a node whose first output always equals `source`, one of its inputs or the origin of one. False, without a
  // change, when the value is an output of the graph that must stay: an input passed through.
  bool Bypass(NodeId node, ValueId source);
  // Removes a node whose outputs all equal those of another. False when one is an output of the graph.
  bool MergeInto(NodeId node, NodeId same);
  // Removes `next`, the only reader of the only output of `node`, which now makes the value of `next`.
  void Absorb(NodeId node, NodeId next);
  // Drops a constant that had only this reader.
  void SetInput(NodeId node, size_t i, ValueId id);
  ValueId AddConstant(std::string name, Tensor tensor);

  // Erases the removed nodes. The editor must not be used afterwards.
  void Finish();

 private:
  void Remove(NodeId node);

  Graph& graph_;
  std::vector<NodeId> producers_;
  std::vector<uint32_t> uses_;
  std::vector<uint8_t> outputs_;
  std::vector<ValueId> instead_;  // per value; itself where nothing has changed
  std::vector<uint8_t> removed_;
};

}  // namespace deputy::host
