// Places a graph's nodes on delegates, in the order of the configuration (policy `priority`).
#pragma once

#include <memory>
#include <span>

#include "partition/placement.hpp"
#include "partition/support.hpp"

namespace deputy::host {

// Asks every delegate about every node, once for each graph that `support` knows, lets delegates that propose form
// their own partitions or groups, gives each node to the first delegate that takes it, clusters, and hands on clusters
// that are under a delegate's minimum, infeasible by its estimate or claimed wrongly; delegates are asked again for
// claims and groups of what others gave up. The last delegate is the CPU. The result has passed CheckPlacement. Claims
// in it are the caller's to compile or release. The same graph, delegates and options give the same placement.
Result<Placement> Place(const Graph& graph, std::span<Delegate* const> delegates, const PlacementOptions& options,
                        SupportMatrix& support);

// Gives back every claim in the placement, regions included.
void ReleaseClaims(Placement& placement, std::span<Delegate* const> delegates);

// Looks at a placement with other eyes than the placer: every node once, inputs and outputs exact, and the quotient
// graph of all partitions of all delegates acyclic. Errors are kInternal.
Status CheckPlacement(const Graph& graph, const Placement& placement);

// Exact inputs and outputs of a set of nodes: what is read from outside and not constant, and what is read outside or
// returned by the graph. In order of first appearance. `partition_of` has `partition` for just these nodes.
void FindInputsAndOutputs(const Graph& graph, std::span<const NodeId> nodes,
                          const std::vector<std::vector<NodeId>>& consumers, std::span<const uint8_t> is_graph_output,
                          std::span<const uint32_t> partition_of, uint32_t partition, PartitionSpec& spec);

}  // namespace deputy::host
