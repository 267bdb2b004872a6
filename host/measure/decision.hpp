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
  std::string place = {};       // in a placement file, "m.onnx.placement.yaml:8:9"; else empty

  // Wherever they are written.
  bool operator==(const SlowerNodes& other) const {
    return delegate == other.delegate && nodes == other.nodes && text == other.text;
  }
};

// Up to which a decision is sure. The kernel and the services of an idle machine take 1 to 3 % of the processors.
constexpr double kMostDisturbance = 0.1;

struct PlacementDecision {
  std::vector<SlowerNodes> slower;  // empty: the order of the configuration is the fastest
  std::string summary;
  // How much the machine was disturbed during the search: the share of the processors that other processes took, or by
  // how much the two fastest turns of the chosen candidate differ, if that is larger.
  double disturbance = 0;
  // Searches so far, if each was disturbed by more than kMostDisturbance; 0: the decision is sure.
  uint32_t unsure_searches = 0;

  // Whether a later run, when the machine is less busy, shall search again.
  bool is_provisional() const { return unsure_searches != 0 && unsure_searches < kMostUnsureSearches; }
  static constexpr uint32_t kMostUnsureSearches = 5;

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

// Of a decision, if there is one, and that of a later search: the later one if it is sure, else the earlier one if that
// is sure, else that of the less disturbed search. All searches that were not sure count.
PlacementDecision MoreCertain(const std::optional<PlacementDecision>& before, PlacementDecision found);

// Adds the decision to the nodes that delegates are refused.
void Apply(const PlacementDecision& decision, const Graph& graph, PlacementOptions& options);

// For the store. None: the bytes are not a decision for this many delegates and nodes.
std::vector<uint8_t> BytesOf(const PlacementDecision& decision);
std::optional<PlacementDecision> ParseDecision(std::span<const uint8_t> bytes, size_t delegates, uint32_t nodes);

}  // namespace deputy::host
