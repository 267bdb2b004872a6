// Events of a run, for the public API: the steps with their times, and the events that delegates report of their
// devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deputy/model.hpp"
#include "execute/execution.hpp"
#include "runtime/engine.hpp"

namespace deputy::host {

// `step_ns` has the time of each step of Run, contiguous from `begin_ns`. Takes the execution's events.
std::vector<RunEvent> EventsOfRun(Execution& execution, const Engine& engine, std::span<const uint64_t> step_ns,
                                  uint64_t begin_ns);

}  // namespace deputy::host
