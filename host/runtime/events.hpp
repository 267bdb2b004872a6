// What happened in a run, for the public API: the steps with their times, and what delegates say of their devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deputy/model.hpp"
#include "execute/execution.hpp"
#include "runtime/engine.hpp"

namespace deputy::host {

// `step_ns` is what Run took of each step, one after the other from `begin_ns` on. Takes the execution's events.
std::vector<RunEvent> EventsOfRun(Execution& execution, const Engine& engine, std::span<const uint64_t> step_ns,
                                  uint64_t begin_ns);

}  // namespace deputy::host
