#include "graph/passes/editor.hpp"

#include <numeric>
#include <utility>

namespace deputy::host {

GraphEditor::GraphEditor(Graph& graph)
    : graph_(graph),
      producers_(graph.Producers()),
      uses_(graph.values.size(), 0),
      outputs_(graph.values.size(), 0),
      instead_(graph.values.size()),
      removed_(graph.nodes.size(), 0) {
  std::iota(instead_.begin(), instead_.end(), ValueId{0});
  for (const Node& node : graph.nodes) node.ForEachRead([&](ValueId id) { ++uses_[id]; });
  for (const ValueId id : graph.outputs) {
    ++uses_[id];
    outputs_[id] = 1;
  }
}

ValueId GraphEditor::Resolve(ValueId id) {
  if (id == kNone) return id;
  ValueId end = id;
  while (instead_[end] != end) end = instead_[end];
  while (instead_[id] != end) id = std::exchange(instead_[id], end);
  return end;
}

void GraphEditor::ResolveReads(Node& node) {
  for (ValueId& id : node.inputs) id = Resolve(id);
  for (Region& region : node.regions)
    for (ValueId& id : region.captures) id = Resolve(id);
}

void GraphEditor::Remove(NodeId node) {
  removed_[node] = 1;
  graph_.nodes[node].ForEachRead([&](ValueId id) { --uses_[Resolve(id)]; });
}

bool GraphEditor::Bypass(NodeId node, ValueId source) {
  const ValueId target = graph_.nodes[node].outputs[0];
  if (!is_output(target)) {
    Remove(node);
    instead_[target] = source;
    uses_[source] += uses_[target];
    return true;
  }
  // The output keeps its value, which the node that made the source now makes.
  const NodeId maker = producers_[source];
  if (maker == kNone || is_output(source)) return false;
  Remove(node);
  for (ValueId& id : graph_.nodes[maker].outputs)
    if (id == source) id = target;
  producers_[target] = maker;
  instead_[source] = target;
  uses_[target] += uses_[source];
  return true;
}

bool GraphEditor::MergeInto(NodeId node, NodeId same) {
  const std::vector<ValueId>& from = graph_.nodes[node].outputs;
  const std::vector<ValueId>& to = graph_.nodes[same].outputs;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != kNone && (is_output(from[i]) || i >= to.size() || to[i] == kNone)) return false;
  Remove(node);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == kNone) continue;
    instead_[from[i]] = to[i];
    uses_[to[i]] += uses_[from[i]];
  }
  return true;
}

void GraphEditor::Absorb(NodeId node, NodeId next) {
  Remove(next);
  const ValueId made = graph_.nodes[next].outputs[0];
  graph_.nodes[node].outputs[0] = made;
  producers_[made] = node;
}

void GraphEditor::SetInput(NodeId node, size_t i, ValueId id) {
  std::vector<ValueId>& inputs = graph_.nodes[node].inputs;
  if (inputs.size() <= i) inputs.resize(i + 1, kNone);
  // A constant without readers is freed at once: large models are rewritten one weight after the other.
  if (inputs[i] != kNone && --uses_[inputs[i]] == 0) graph_.values[inputs[i]].constant = Tensor();
  inputs[i] = id;
  ++uses_[id];
}

ValueId GraphEditor::AddConstant(std::string name, Tensor tensor) {
  const ValueId id = graph_.AddConstant(std::move(name), std::move(tensor));
  producers_.push_back(kNone);
  uses_.push_back(0);
  outputs_.push_back(0);
  instead_.push_back(id);
  return id;
}

void GraphEditor::Finish() {
  size_t kept = 0;
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    if (removed_[id]) continue;
    ResolveReads(graph_.nodes[id]);
    if (kept != id) graph_.nodes[kept] = std::move(graph_.nodes[id]);
    ++kept;
  }
  graph_.nodes.resize(kept);
}

}  // namespace deputy::host
