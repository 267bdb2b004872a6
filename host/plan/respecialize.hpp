// A plan for other shapes, derived from an existing one: the same nodes stay on the same delegates, whose contexts are
// resized or whose partitions are compiled again. Delegates are not queried for support again.
#pragma once

#include <memory>
#include <span>

#include "plan/executable_maker.hpp"
#include "plan/make_plan.hpp"

namespace deputy::host {

// Null where the model has to be placed again: it is not the same at these shapes, a delegate that has nodes does not
// keep its partitions (DelegateTraits::keeps_partitions) or refuses to, or a verdict of the old placement depended on
// shapes. `graph` is that of `sources.sibling` with other shapes, after the same passes.
std::shared_ptr<Plan> RespecializePlan(const std::shared_ptr<const Graph>& graph, Delegates delegates,
                                       const PlanSources& sources, ExecutableMaker& maker);

}  // namespace deputy::host
