// The name of a node in errors where it is not in its graph.
#pragma once

#include <string>

#include "graph/graph.hpp"

namespace deputy::host {

// As Describe(graph, number) of the graph in which the node had this place.
std::string Describe(const Node& node, NodeId number);

}  // namespace deputy::host
