// The times of runs: latency in a few numbers, and sums by delegate.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/json_report.hpp"
#include "deputy/placement.hpp"

namespace deputy::cli {

class Stopwatch {
 public:
  // Nanoseconds since construction or the last call.
  uint64_t Lap() {
    const auto now = std::chrono::steady_clock::now();
    const auto lap = now - std::exchange(start_, now);
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(lap).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Latency {
  uint64_t min = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;  // nanoseconds
  double mean = 0;
};

// Percentiles are times of actual runs ("nearest rank"). At least one run.
Latency SummarizeRuns(std::vector<uint64_t> run_ns);
Json ToJson(const Latency& latency);
// Any other percentile, above 0 and up to 100.
uint64_t PercentileOf(std::vector<uint64_t> run_ns, double percent);

// The first run of a session does work that later ones do not.
struct FirstRun {
  uint64_t ns = 0;
  uint64_t compiled = 0, verified = 0;  // partitions
  uint64_t measured = 0;                // placements
  uint64_t page_faults = 0;  // of the process: weights that are read, memory that is used, for the first time
};
class FirstRunWatch {
 public:
  FirstRunWatch();
  FirstRun Stop() const;  // counted since construction

 private:
  static FirstRun Now();
  FirstRun begin_;
  mutable Stopwatch watch_;
};
// "cold: 2 partitions verified, 1,204 page faults"; "" for a run that did nothing else.
std::string ColdText(const FirstRun& run);

// The peak of the process's resident memory, in bytes.
uint64_t PeakMemory();

// Nanoseconds by delegate, as in RunStatistics.
using DelegateTimes = std::vector<std::pair<std::string, uint64_t>>;
void AddTimes(DelegateTimes& sum, const DelegateTimes& run);
uint64_t TimeOf(const DelegateTimes& times, const std::string& delegate);  // 0 for an unknown delegate

// The time that a device was busy between two reports. One of a worker process that was started again in between counts
// from 0.
inline uint64_t BusyBetween(const DelegateReport& before, const DelegateReport& after) {
  const uint64_t first = before.device.busy_ns, last = after.device.busy_ns;
  return last < first ? last : last - first;
}

}  // namespace deputy::cli
