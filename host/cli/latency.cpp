#include "cli/latency.hpp"

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

}  // namespace deputy::cli
