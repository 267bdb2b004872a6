#include "cli/profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json_report.hpp"
#include "cli/quantity.hpp"
#include "cli/shown.hpp"
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
