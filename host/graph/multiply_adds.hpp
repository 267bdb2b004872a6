// The arithmetic cost of a node.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Multiply-adds of one node: convolutions, matrix products and recurrent layers; 0 for everything else and while
// extents are unknown. Regions are not counted.
uint64_t MultiplyAdds(const Graph& graph, const Node& node);

}  // namespace deputy::host
