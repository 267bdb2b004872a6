#include "cli/report/operator_times.hpp"

#include <algorithm>
#include <numeric>

#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"

namespace deputy::cli {
namespace {

uint64_t DurationOf(const RunEvent& event) { return event.end_ns - event.begin_ns; }

// "Conv, Relu": every operator once, in order of first appearance.
std::string OperatorNamesOf(const RunEvent& step, const std::map<std::string, std::string>& operator_of) {
  std::vector<std::string> operators;
  for (const std::string& node : step.nodes) {
    const auto found = operator_of.find(node);
    if (found != operator_of.end() && std::find(operators.begin(), operators.end(), found->second) == operators.end())
      operators.push_back(found->second);
  }
  return operators.empty() ? step.name : Joined(operators);
}

}  // namespace

void OperatorTimes::Add(const std::vector<RunEvent>& events, const PlacementReport& placement) {
  std::map<std::string, std::string> operator_of;
  for (const NodeReport& node : placement.nodes) operator_of[node.name] = node.op_type;
  ++runs_;
  for (const RunEvent& event : events) {
    if (!event.is_step) continue;
    const std::string operators = OperatorNamesOf(event, operator_of);
    Sum& sum = sums_[{operators, event.delegate}];
    sum.operators = operators;
    sum.delegate = event.delegate;
    ++sum.steps;
    sum.ns += DurationOf(event);
  }
}

std::vector<OperatorTimes::Sum> OperatorTimes::Sorted() const {
  std::vector<Sum> sorted;
  for (const auto& [key, sum] : sums_)
    sorted.push_back({sum.operators, sum.delegate, sum.steps / runs_, sum.ns / runs_});
  std::stable_sort(sorted.begin(), sorted.end(), [](const Sum& a, const Sum& b) { return a.ns > b.ns; });
  return sorted;
}

Shown OperatorTimes::Text(size_t top, const Terminal& terminal) const {
  const std::vector<Sum> sorted = Sorted();
  const uint64_t total =
      std::accumulate(sorted.begin(), sorted.end(), uint64_t{0}, [](uint64_t ns, const Sum& s) { return ns + s.ns; });
  Table table({{"operators", Align::kLeft, Fit::kList},
               {"delegate", Align::kLeft, Fit::kMiddle, 1},
               {"steps", Align::kRight, Fit::kMiddle, 2},
               {"time", Align::kRight},
               {"share", Align::kRight}});
  for (size_t i = 0; i < RowsShown(sorted.size(), top); ++i)
    table.AddRow({sorted[i].operators, sorted[i].delegate, CountText(sorted[i].steps), DurationText(sorted[i].ns),
                  ShareText(sorted[i].ns, total)});
  Shown text = table.Text(terminal, "  ");
  text += RestText(sorted.size(), top, "row");
  return text;
}

Json OperatorTimes::ToJson() const {
  const std::vector<Sum> sorted = Sorted();
  uint64_t total = 0;
  for (const Sum& sum : sorted) total += sum.ns;
  Json rows = Json::array();
  for (const Sum& sum : sorted)
    rows.push_back({{"operators", sum.operators},
                    {"delegate", sum.delegate},
                    {"steps", sum.steps},
                    {"time_ns", sum.ns},
                    {"time_share", static_cast<double>(sum.ns) / static_cast<double>(std::max<uint64_t>(1, total))}});
  return rows;
}

}  // namespace deputy::cli
