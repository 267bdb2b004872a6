#include "cli/measure/timing.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/quantity.hpp"

namespace deputy::cli {
namespace {

// "Nearest rank", in thousandths of a percent: a rank must not depend on rounding.
uint64_t OfSorted(const std::vector<uint64_t>& run_ns, double percent) {
  const auto thousandths = static_cast<size_t>(std::lround(percent * 1000));
  const size_t rank = (thousandths * run_ns.size() + 99999) / 100000;
  return run_ns[std::clamp<size_t>(rank, 1, run_ns.size()) - 1];
}

}  // namespace

Latency SummarizeRuns(std::vector<uint64_t> run_ns) {
  std::sort(run_ns.begin(), run_ns.end());
  const double sum = std::accumulate(run_ns.begin(), run_ns.end(), 0.0);
  return {run_ns.front(),
          OfSorted(run_ns, 50),
          OfSorted(run_ns, 90),
          OfSorted(run_ns, 95),
          OfSorted(run_ns, 99),
          run_ns.back(),
          sum / static_cast<double>(run_ns.size())};
}

Json ToJson(const Latency& latency) {
  return {{"min", latency.min}, {"p50", latency.p50}, {"p90", latency.p90},  {"p95", latency.p95},
          {"p99", latency.p99}, {"max", latency.max}, {"mean", latency.mean}};
}

uint64_t PercentileOf(std::vector<uint64_t> run_ns, double percent) {
  std::sort(run_ns.begin(), run_ns.end());
  return OfSorted(run_ns, percent);
}

FirstRunWatch::FirstRunWatch() : begin_(Now()) { watch_.Lap(); }

FirstRun FirstRunWatch::Now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {0, ProgressCount(ProgressStage::kCompile), ProgressCount(ProgressStage::kVerification),
          ProgressCount(ProgressStage::kMeasurement), static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt)};
}

FirstRun FirstRunWatch::Stop() const {
  const uint64_t ns = watch_.Lap();
  const FirstRun end = Now();
  return {ns, end.compiled - begin_.compiled, end.verified - begin_.verified, end.measured - begin_.measured,
          end.page_faults - begin_.page_faults};
}

std::string ColdText(const FirstRun& run) {
  std::vector<std::string> parts;
  if (run.compiled != 0) parts.push_back(Plural(run.compiled, "partition") + " compiled");
  if (run.verified != 0) parts.push_back(Plural(run.verified, "partition") + " verified");
  if (run.measured != 0) parts.push_back(Plural(run.measured, "placement") + " measured");
  if (run.page_faults != 0) parts.push_back(Plural(run.page_faults, "page fault"));
  return parts.empty() ? "" : "cold: " + Joined(parts);
}

uint64_t PeakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
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
