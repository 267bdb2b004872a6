// The requirements of every graph, checked before anything else reads it.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Axes that a tensor may have. Makers of tensors refuse more: the file readers, shape inference, a run.
inline constexpr size_t kMostAxes = 64;

// Ids in range, one producer per value, nodes in topological order, arities as in the operator list, captures of
// regions match, element counts of constants fit their types. Errors name the node. Regions are verified too.
Status VerifyGraph(const Graph& graph);

}  // namespace deputy::host
