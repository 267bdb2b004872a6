// Events of a run, for the public API: the steps with their times, and the events that delegates report of their
// devices.
#pragma once

#include <span>
#include <vector>

#include "deputy/profile.hpp"
#include "execute/execution.hpp"
#include "runtime/engine.hpp"

namespace deputy::host {

// `spans` has the time of each step of Run. Takes the execution's events.
std::vector<RunEvent> EventsOfRun(Execution& execution, const Engine& engine, std::span<const StepSpan> spans);

}  // namespace deputy::host
