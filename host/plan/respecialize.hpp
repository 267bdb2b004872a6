// A plan for other shapes, carried over from one that exists: the same nodes stay on the same delegates, whose contexts
// take the new shapes or whose partitions are compiled anew for them. Nobody is asked for support again.
#pragma once

#include <memory>
#include <span>

#include "plan/executable_maker.hpp"
#include "plan/plan.hpp"

namespace deputy::host {

// Null where the model has to be placed anew: it is not the same at these shapes, a delegate that has nodes does not
// keep its partitions (Delegate::keeps_partitions) or does not want to, or a verdict of the old placement hung on
// shapes. `graph` is that of `sources.sibling` with other shapes, after the same passes.
std::shared_ptr<Plan> RespecializePlan(const std::shared_ptr<const Graph>& graph,
                                       std::span<const std::shared_ptr<Delegate>> delegates,
                                       const PlacementOptions& options, const PlanSources& sources,
                                       ExecutableMaker& maker);

}  // namespace deputy::host
