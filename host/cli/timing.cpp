#include "cli/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "cli/quantity.hpp"
#include "cli/table.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kNodesShown = 3;

std::string NodesText(const std::vector<std::string>& nodes) {
  const auto shown = static_cast<ptrdiff_t>(std::min(nodes.size(), kNodesShown));
  std::string text = Joined({nodes.begin(), nodes.begin() + shown});
  if (nodes.size() > kNodesShown) text += fmt::format(", {} more", nodes.size() - kNodesShown);
  return text;
}

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

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

Shown ProfileTable(const std::vector<RunEvent>& events, const Terminal& terminal) {
  Table table({{"delegate"},
               {"step, event"},
               {"nodes"},
               {"time", Align::kRight},
               {"share", Align::kRight},
               {"clock"},
               {"metadata"}});
  uint64_t total = 0;
  for (const RunEvent& event : events)
    if (event.is_step) total += event.end_ns - event.begin_ns;
  for (const RunEvent& event : events) {
    const uint64_t time = event.end_ns - event.begin_ns;
    table.AddRow({event.is_step ? event.delegate : "", event.is_step ? event.name : "  " + event.name,
                  NodesText(event.nodes), DurationText(time), event.is_step ? ShareText(time, total) : "",
                  event.on_device_clock ? "device" : "host", event.metadata});
  }
  return table.Text(terminal, "  ");
}

std::string TraceJson(const std::vector<RunEvent>& events) {
  Json trace = Json::array();
  const uint64_t start = events.empty() ? 0 : events.front().begin_ns;
  for (const RunEvent& event : events) {
    // Events of a device whose clock could not be tied to the host's may begin before the run.
    const double begin =
        event.begin_ns >= start ? Microseconds(event.begin_ns - start) : -Microseconds(start - event.begin_ns);
    trace.push_back({{"name", event.name},
                     {"cat", event.is_step ? "step" : "device"},
                     {"ph", "X"},
                     {"pid", 1},
                     {"tid", event.is_step ? "host" : event.delegate},
                     {"ts", begin},
                     {"dur", Microseconds(event.end_ns - event.begin_ns)},
                     {"args",
                      {{"delegate", event.delegate},
                       {"partition", event.partition},
                       {"nodes", event.nodes},
                       {"clock", event.on_device_clock ? "device" : "host"},
                       {"metadata", event.metadata}}}});
  }
  return JsonText({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(trace)}});
}

}  // namespace deputy::cli
