#include "cli/timing.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace deputy::cli {
Latency SummarizeRuns(std::vector<uint64_t> run_ns) {
  std::sort(run_ns.begin(), run_ns.end());
  const auto percentile = [&](size_t percent) {
    const size_t rank = (percent * run_ns.size() + 99) / 100;
    return run_ns[std::max<size_t>(rank, 1) - 1];
  };
  const double sum = std::accumulate(run_ns.begin(), run_ns.end(), 0.0);
  return {run_ns.front(), percentile(50), percentile(90),
          percentile(99), run_ns.back(),  sum / static_cast<double>(run_ns.size())};
}

Json ToJson(const Latency& latency) {
  return {{"min", latency.min}, {"p50", latency.p50}, {"p90", latency.p90},
          {"p99", latency.p99}, {"max", latency.max}, {"mean", latency.mean}};
}

void AddTimes(DelegateTimes& sum, const DelegateTimes& run) {
  sum.resize(run.size());
  for (size_t d = 0; d < run.size(); ++d) sum[d] = {run[d].first, sum[d].second + run[d].second};
}

uint64_t TimeOf(const DelegateTimes& times, const std::string& delegate) {
  const auto found = std::find_if(times.begin(), times.end(), [&](const auto& time) { return time.first == delegate; });
  return found == times.end() ? 0 : found->second;
}

}  // namespace deputy::cli
