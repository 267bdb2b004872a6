// Intermediate results: values of a graph by name that become its outputs before it is partitioned.
#pragma once

#include <span>
#include <string>

#include "graph/graph.hpp"

namespace deputy::host {

// Adds the values of these names to the caller's outputs, in their order, without those that are outputs already.
// kInvalidArgument for a name that the graph does not have, with the nearest one, and for a value inside a region.
Status AddOutputs(Graph& graph, std::span<const std::string> names);

}  // namespace deputy::host
