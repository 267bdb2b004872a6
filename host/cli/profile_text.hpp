// The events of a run, as a table and as a trace for tools.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {

// Steps in order, each with its share of the run, followed by the events of its device: event, nodes, time, clock,
// metadata.
Shown ProfileTable(const std::vector<RunEvent>& events, const Terminal& terminal);

// In the format of Chrome's and Perfetto's trace viewers: an object with `traceEvents`, times in microseconds from the
// first step; host/docs/cli.md lists the keys.
std::string TraceJson(const std::vector<RunEvent>& events);

}  // namespace deputy::cli
