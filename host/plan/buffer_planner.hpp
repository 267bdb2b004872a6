// Where the values of a plan are while it runs.
#pragma once

#include <cstddef>

#include "plan/plan.hpp"

namespace deputy::host {

class StepOrder;

// Fills plan.slots from the steps, and marks steps that have become views. Values share a place where executables allow
// it: views with their inputs; results written over their inputs only inside the last delegate, whose inputs are not
// needed for a fallback. Outputs of a top-level plan are written to the caller's memory. If plan.overlaps, values share
// bytes only where `order` has one dead before the other is written.
void PlanBuffers(Plan& plan, const StepOrder& order, size_t last_delegate, bool top_level);

}  // namespace deputy::host
