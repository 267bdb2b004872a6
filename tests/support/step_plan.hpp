// Plans for tests of the order of steps: no graph but its values, nothing to run.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace deputy::host {

// Steps that make one value each, of the number of the step; per step, the values that it reads.
inline Plan PlanOfSteps(const std::vector<std::vector<ValueId>>& reads) {
  Plan plan;
  auto graph = std::make_shared<Graph>();
  for (ValueId id = 0; id < reads.size(); ++id) {
    graph->AddValue("", {});
    Step& step = plan.steps.emplace_back();
    step.inputs = reads[id];
    step.outputs = {id};
  }
  plan.graph = std::move(graph);
  return plan;
}

}  // namespace deputy::host
