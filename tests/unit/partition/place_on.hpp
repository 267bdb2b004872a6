// Placements of test graphs on test delegates.
#pragma once

#include <string>
#include <vector>

#include "partition/placer.hpp"
#include "support/borrowed_delegate.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {

using Names = std::vector<std::vector<std::string>>;

// n0 -> n1 -> ...: S is for the first delegate, U for the CPU.
inline TestGraph Chain(const std::string& ops) {
  std::vector<std::pair<std::string, std::string>> nodes;
  for (const char op : ops) nodes.emplace_back("n" + std::to_string(nodes.size()), std::string(1, op));
  return TestGraph(nodes);
}

inline TestDelegate TestCpu() { return TestDelegate("cpu", {"*"}, /*one_node=*/true); }

// `limits` are those of the first delegate.
inline Result<Placement> PlaceOn(const Graph& graph, const std::vector<Delegate*>& delegates,
                                 const PlacementOptions& options = {}, const DelegateLimits& limits = {}) {
  std::vector<HostedDelegate> hosted;
  for (Delegate* const delegate : delegates) hosted.push_back(Borrowed(*delegate));
  hosted.front().limits = limits;
  SupportMatrix support;
  return Place(graph, hosted, options, support, /*may_overlap=*/true);
}

// Node names of the partitions of one delegate, in running order.
inline Names PartitionsOf(const Graph& graph, const Placement& placement, size_t delegate) {
  Names names;
  for (const PlacedPartition& partition : placement.partitions) {
    if (partition.delegate != delegate) continue;
    names.emplace_back();
    for (const NodeId node : partition.spec.nodes) names.back().push_back(graph.nodes[node].name);
  }
  return names;
}

}  // namespace deputy::host
