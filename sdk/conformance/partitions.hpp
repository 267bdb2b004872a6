// Which nodes of a graph become partitions of a delegate, as a host decides: claims and groups whole or not at all,
// clusters as large as they can be without two partitions that wait for each other, and exact borders.
#pragma once

#include <cstdint>
#include <vector>

#include "instance.hpp"

namespace deputy::conformance {

constexpr uint32_t kInNoCluster = 0xffffffffu;

struct Clusters {
  std::vector<uint32_t> of;  // per node; kInNoCluster for those that are in none
  uint32_t count = 0;
};

// `wanted` has an entry per node: 0 no, 1 yes, a larger number names nodes that stay together.
Clusters ClustersOf(const deputy_graph& graph, const std::vector<uint32_t>& wanted);

// Sets what enters from outside and is not constant, and what is read outside or returned.
void SetBorder(const deputy_graph& graph, Claim& claim);

// No value leaves the nodes and comes back.
bool IsConvex(const deputy_graph& graph, const std::vector<deputy_node_id>& nodes);

// Every claim must be compiled or released. Claims that no host could adopt have been released.
std::vector<Claim> PartitionsOf(Instance& instance, const deputy_graph& graph);

}  // namespace deputy::conformance
