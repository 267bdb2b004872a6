// Part of a graph as a graph of its own.
#pragma once

#include <span>

#include "graph/graph.hpp"

namespace deputy::host {

// The nodes, in topological order, with the values that they read and make. `inputs` become captures and `outputs`
// outputs, in their order, without those that are kNone. Constants and bodies of regions are shared.
Graph Subgraph(const Graph& whole, std::span<const NodeId> nodes, std::span<const ValueId> inputs,
               std::span<const ValueId> outputs);

}  // namespace deputy::host
