// What is known of a step before it runs: verdicts of earlier runs on its partition. `owner` is its delegate.
#pragma once

#include <memory>
#include <optional>

#include "plan/make_plan.hpp"

namespace deputy::host {

// Null where a failure of the step ends the run and no run is verified.
std::shared_ptr<StepHealth> HealthOf(const Graph& graph, const PlacedPartition& placed, const Step& step,
                                     const HostedDelegate& owner, const PlanSources& sources);
// The verdict on a partition that its delegate is known to compute wrongly, compiled for its shapes, resized to them or
// restored.
std::optional<PartitionVerdict> KnownFault(const Graph& graph, const PlacedPartition& placed,
                                           const HostedDelegate& owner, const PlanSources& sources);
// The error that a wrong result is where no other delegate may replace it.
Status WrongResult(const PartitionVerdict& verdict);

}  // namespace deputy::host
