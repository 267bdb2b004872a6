// What happened during a run, for people and as a trace for tools.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {

// Steps in order, each with its share of the run, followed by what its delegate says of the device: event, nodes, time,
// clock, metadata.
Shown ProfileTable(const std::vector<RunEvent>& events, const Terminal& terminal);

// In the format of Chrome's and Perfetto's trace viewers: an object with `traceEvents`, times in microseconds from the
// first step on; host/docs/cli.md has the keys.
std::string TraceJson(const std::vector<RunEvent>& events);

}  // namespace deputy::cli
