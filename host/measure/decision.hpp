// A placement that was decided by measuring: the nodes that delegates do not get although they support them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partition/placement.hpp"

namespace deputy::host {

// Nodes that run faster elsewhere, and the times that show it.
struct SlowerNodes {
  size_t delegate = 0;
  std::vector<uint32_t> nodes;  // ascending; numbered through the graph and the regions of each node after the node
  std::string text;             // "1.43 ms, 0.98 ms without"

  bool operator==(const SlowerNodes&) const = default;
};

struct PlacementDecision {
  std::vector<SlowerNodes> slower;  // empty: the order of the configuration is the fastest
  std::string summary;

  bool operator==(const PlacementDecision&) const = default;
};

// Calls fn(const Graph&, NodeId, uint32_t number) for each node in the numbering of SlowerNodes; returns their number.
template <class F>
uint32_t ForEachNode(const Graph& graph, F&& fn, uint32_t first = 0) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    fn(graph, id, first++);
    for (const Region& region : graph.nodes[id].regions) first = ForEachNode(*region.body, fn, first);
  }
  return first;
}

// Adds the decision to the nodes that delegates are refused.
void Apply(const PlacementDecision& decision, const Graph& graph, PlacementOptions& options);

// For the store. None: the bytes are not a decision for this many delegates and nodes.
std::vector<uint8_t> BytesOf(const PlacementDecision& decision);
std::optional<PlacementDecision> ParseDecision(std::span<const uint8_t> bytes, size_t delegates, uint32_t nodes);

}  // namespace deputy::host
