// Summary of the times of many runs.
#pragma once

#include <cstdint>
#include <vector>

namespace deputy::cli {

struct Latency {
  uint64_t min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;  // nanoseconds
  double mean = 0;
};

// Percentiles are times of actual runs ("nearest rank"). At least one run.
Latency SummarizeRuns(std::vector<uint64_t> run_ns);

}  // namespace deputy::cli
