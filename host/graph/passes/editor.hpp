// A graph while a pass rewrites it: who makes a value, how often it is read, and what readers find in its place. Every
// step takes constant time; Finish brings the nodes up to date in one walk.
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

  // What readers of `id` find by now.
  ValueId Resolve(ValueId id);
  // Brings the inputs and captures of a node up to date; to be done before looking at them.
  void ResolveReads(Node& node);

  // Node that makes the value; kNone for inputs, captures and constants.
  NodeId producer(ValueId id) const { return producers_[id]; }
  // Reads by nodes and regions, and by the graph's outputs.
  uint32_t uses(ValueId id) const { return uses_[id]; }
  bool is_output(ValueId id) const { return outputs_[id] != 0; }
  bool removed(NodeId id) const { return removed_[id] != 0; }

  // Takes out a node whose first output always equals `source`, one of its inputs or what that was made from. False,
  // and nothing done, when the value is an output of the graph that cannot be had otherwise: an input handed through.
  bool Bypass(NodeId node, ValueId source);
  // Takes out a node whose outputs all equal those of another. False when one is an output of the graph.
  bool MergeInto(NodeId node, NodeId same);
  // Takes out `next`, the only reader of the only output of `node`, which now makes the value of `next`.
  void Absorb(NodeId node, NodeId next);
  // A constant that was read there and nowhere else is gone.
  void SetInput(NodeId node, size_t i, ValueId id);
  ValueId AddConstant(std::string name, Tensor tensor);

  // Removes what was taken out. The editor is of no use afterwards.
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
