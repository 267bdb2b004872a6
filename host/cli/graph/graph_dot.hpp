// The placement of a model as a graph for Graphviz.
#pragma once

#include <string>

#include "deputy/placed_graph.hpp"

namespace deputy::cli {

// In the language DOT: a cluster for each partition of several nodes, the colour of its delegate for each node, edges
// with the types of their values, a cluster for each region.
std::string GraphDot(const std::string& model, const PlacedGraph& graph);

}  // namespace deputy::cli
