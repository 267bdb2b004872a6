// The times of runs: latency in a few numbers, and the events of a run as a table and as a trace for tools.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {

struct Latency {
  uint64_t min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;  // nanoseconds
  double mean = 0;
};

// Percentiles are times of actual runs ("nearest rank"). At least one run.
Latency SummarizeRuns(std::vector<uint64_t> run_ns);

// Nanoseconds by delegate, as in RunStatistics.
using DelegateTimes = std::vector<std::pair<std::string, uint64_t>>;
void AddTimes(DelegateTimes& sum, const DelegateTimes& run);
uint64_t TimeOf(const DelegateTimes& times, const std::string& delegate);  // 0 for an unknown delegate

// Steps in order, each with its share of the run, followed by the events of its device: event, nodes, time, clock,
// metadata.
Shown ProfileTable(const std::vector<RunEvent>& events, const Terminal& terminal);

// In the format of Chrome's and Perfetto's trace viewers: an object with `traceEvents`, times in microseconds from the
// first step; host/docs/cli.md lists the keys.
std::string TraceJson(const std::vector<RunEvent>& events);

}  // namespace deputy::cli
