// Places a graph's nodes on delegates, as the policy ranks these.
#pragma once

#include <memory>
#include <span>

#include "partition/placement.hpp"
#include "partition/support.hpp"

namespace deputy::host {

// Queries the support of every node by every delegate, once for each graph that `support` knows; lets delegates with
// their own partitioning form claims or groups; gives each node to the delegate that supports it and that the policy
// prefers; clusters; rejects clusters that are below a delegate's minimum, infeasible by its estimate or wrongly
// claimed. Delegates are asked again for claims and groups of rejected nodes. If the partitions `may_overlap`, those of
// the graph, but not of its regions, are cut where delegates can run beside each other (partition/overlap.hpp). The
// result has passed CheckPlacement. The caller compiles or releases its claims. The same graph, delegates and options
// give the same placement.
Result<Placement> Place(const Graph& graph, Delegates delegates, const PlacementOptions& options,
                        SupportMatrix& support, bool may_overlap);

// Releases every claim in the placement, regions included.
void ReleaseClaims(Placement& placement, Delegates delegates);

// Verifies a placement independently of the placer: every node once, inputs and outputs exact, and the quotient graph
// of all partitions of all delegates acyclic. Errors are kInternal.
Status CheckPlacement(const Graph& graph, const Placement& placement);

}  // namespace deputy::host
