// The times of many runs in a few numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace deputy::cli {

struct Latency {
  uint64_t min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;  // nanoseconds
  double mean = 0;
};

// Percentiles are those of runs that happened: the smallest time that so many percent did not exceed ("nearest rank").
// At least one run.
Latency SummarizeRuns(std::vector<uint64_t> run_ns);

}  // namespace deputy::cli
