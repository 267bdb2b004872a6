#include "graph/passes/drop_unused.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace deputy::host {

void DropUnused(Graph& graph) {
  std::vector<uint8_t> needed(graph.values.size(), 0);
  for (const ValueId id : graph.outputs) needed[id] = 1;
  std::vector<uint8_t> keep(graph.nodes.size(), 0);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    keep[i] =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return id != kNone && needed[id]; });
    if (keep[i]) node.ForEachRead([&](ValueId id) { needed[id] = 1; });
  }
  size_t kept = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!keep[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (!needed[id]) graph.values[id].constant = Tensor();
}

}  // namespace deputy::host
