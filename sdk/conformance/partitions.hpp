// Forms the partitions of a delegate in a graph as a host does: claims and groups are all or nothing, clusters are as
// large as possible without a cycle between partitions, and subgraph inputs and outputs are exact.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/abi/ext/partition_helpers.h"
#include "instance.hpp"

namespace deputy::conformance {

constexpr uint32_t kInNoCluster = 0xffffffffu;

struct Clusters {
  std::vector<uint32_t> of;  // per node; kInNoCluster for nodes outside of clusters
  uint32_t count = 0;
};

// `wanted` has an entry per node: 0 no, 1 yes, a larger number names nodes that stay together.
Clusters ClustersOf(const deputy_graph& graph, const std::vector<uint32_t>& wanted);

// Sets the subgraph inputs, which are values of other nodes or of the graph that are not constant, and the outputs,
// which other nodes read or the graph returns.
void SetInputsAndOutputs(const deputy_graph& graph, Claim& claim);

// No path leaves the nodes and returns to them.
bool IsConvex(const deputy_graph& graph, const std::vector<deputy_node_id>& nodes);

// Every claim must be compiled or released. Claims that no host could adopt have been released.
std::vector<Claim> PartitionsOf(Instance& instance, const deputy_graph& graph);

// The kit's host extension deputy.partition_helpers/1. The table points to `host`, which records faults of calls.
deputy_ext_partition_helpers HelpersOf(HostServices& host);

}  // namespace deputy::conformance
