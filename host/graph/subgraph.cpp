#include "graph/subgraph.hpp"

#include <unordered_map>

namespace deputy::host {

Graph Subgraph(const Graph& whole, std::span<const NodeId> nodes, std::span<const ValueId> inputs,
               std::span<const ValueId> outputs) {
  Graph graph;
  graph.name = whole.name;
  graph.symbols = whole.symbols;
  std::unordered_map<ValueId, ValueId> known;
  const auto take = [&](ValueId id) {
    if (id == kNone) return kNone;
    const auto [found, is_new] = known.try_emplace(id, static_cast<ValueId>(graph.values.size()));
    if (is_new) graph.values.push_back(whole.values[id]);
    return found->second;
  };
  for (const ValueId id : inputs)
    if (id != kNone) graph.captured.push_back(take(id));
  for (const NodeId id : nodes) {
    Node node = whole.nodes[id];
    for (ValueId& input : node.inputs) input = take(input);
    for (ValueId& output : node.outputs) output = take(output);
    for (Region& region : node.regions)
      for (ValueId& capture : region.captures) capture = take(capture);
    graph.nodes.push_back(std::move(node));
  }
  for (const ValueId id : outputs)
    if (id != kNone) graph.outputs.push_back(take(id));
  return graph;
}

}  // namespace deputy::host
