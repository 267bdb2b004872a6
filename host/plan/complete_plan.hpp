// The last pass over a new plan.
#pragma once

#include <memory>
#include <span>

#include "plan/plan.hpp"

namespace deputy::host {

// Sets what follows from the steps of a new plan: whether they may overlap, their waits, and the slots.
void CompletePlan(Plan& plan, Delegates delegates, bool top_level);

}  // namespace deputy::host
