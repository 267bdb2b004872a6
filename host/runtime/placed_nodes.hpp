// Collects the nodes and regions of a PlacedGraph from the graphs of a plan.
#pragma once

#include <string>

#include "deputy/placed_graph.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

class PlacedNodes {
 public:
  explicit PlacedNodes(PlacedGraph& placed) : placed_(placed) {}

  void AddRegion(const Graph& graph, const std::string& path);
  void AddNode(const Graph& graph, NodeId id);

 private:
  PlacedGraph& placed_;
};

}  // namespace deputy::host
