#include "cli/report/run_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "cli/measure/timing.hpp"
#include "cli/report/placement_text.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kNodesShown = 3;

std::string SomeNodes(const std::vector<std::string>& nodes) {
  const auto shown = static_cast<ptrdiff_t>(std::min(nodes.size(), kNodesShown));
  std::string text = Joined({nodes.begin(), nodes.begin() + shown});
  if (nodes.size() > kNodesShown) text += fmt::format(", {} more", nodes.size() - kNodesShown);
  return text;
}

// Of a step of one node with its operator.
std::string NodesOf(const StepTotal& step) {
  if (step.nodes.size() != 1 || step.op_types.size() != 1) return SomeNodes(step.nodes);
  return fmt::format("{} ({})", step.nodes.front(), step.op_types.front());
}

const char* ClockOf(const RunEvent& event) {
  return !event.is_related ? "unrelated" : event.on_device_clock ? "device" : "host";
}

// "Conv+Relu"; the delegate's name for an operation without nodes.
std::string OperatorOf(const OperationTotal& operation, const StepTotal& step) {
  std::vector<std::string> types;
  for (const std::string& node : operation.nodes) {
    const auto found = std::find(step.nodes.begin(), step.nodes.end(), node);
    if (found == step.nodes.end()) continue;
    const std::string& type = step.op_types[static_cast<size_t>(found - step.nodes.begin())];
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return types.empty() ? "(" + operation.name + ")" : Joined(types, "+");
}

uint64_t OperationsNs(const StepTotal& step) {
  uint64_t sum = 0;
  for (const OperationTotal& operation : step.operations) sum += operation.time_ns;
  return sum;
}

// The `top` longest ones, 0: all, in their order.
std::vector<const OperationTotal*> LongestOf(const std::vector<OperationTotal>& operations, size_t top) {
  std::vector<const OperationTotal*> longest;
  for (const OperationTotal& operation : operations) longest.push_back(&operation);
  if (top == 0 || longest.size() <= top) return longest;
  std::stable_sort(longest.begin(), longest.end(),
                   [](const OperationTotal* a, const OperationTotal* b) { return a->time_ns > b->time_ns; });
  longest.resize(top);
  std::sort(longest.begin(), longest.end());  // by address: all are in one list
  return longest;
}

}  // namespace

bool LieWithin(const RunEvent& step, const RunEvent* operations, size_t count) {
  // Two clocks are read one after the other.
  constexpr uint64_t kSlackNs = 100'000;
  return std::all_of(operations, operations + count, [&](const RunEvent& operation) {
    return operation.is_related && operation.begin_ns + kSlackNs >= step.begin_ns &&
           operation.end_ns <= step.end_ns + kSlackNs;
  });
}

StepTimes TimesOfSteps(const std::vector<RunEvent>& events) {
  std::vector<const RunEvent*> steps;
  for (const RunEvent& event : events)
    if (event.is_step) steps.push_back(&event);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const RunEvent* a, const RunEvent* b) { return a->begin_ns < b->begin_ns; });
  StepTimes times;
  if (steps.empty()) return times;
  times.begin_ns = times.end_ns = steps.front()->begin_ns;
  for (const RunEvent* step : steps) {
    if (step->begin_ns > times.end_ns) {
      times.between_ns += step->begin_ns - times.end_ns;
    } else {
      times.overlap_ns += std::min(step->end_ns, times.end_ns) - step->begin_ns;
    }
    times.end_ns = std::max(times.end_ns, step->end_ns);
  }
  return times;
}

RunProfile::RunProfile(const std::vector<ProfiledRun>& runs) {
  for (const ProfiledRun& run : runs) Add(run);
}

void RunProfile::Add(const ProfiledRun& run) {
  const uint64_t begin_ns = run.statistics.begin_ns, end_ns = begin_ns + run.statistics.total_ns;
  run_ns_.push_back(run.statistics.total_ns);
  total_ns_ += run.statistics.total_ns;
  if (run.events.empty()) {
    before_ns_ += run.statistics.total_ns;
  } else {
    const StepTimes times = TimesOfSteps(run.events);
    before_ns_ += times.begin_ns - begin_ns;
    between_ns_ += times.between_ns;
    after_ns_ += end_ns - times.end_ns;
    overlap_ns_ += times.overlap_ns;
  }
  const bool is_first_run = steps_.empty();
  size_t next = 0;  // step of this run
  for (size_t i = 0; i < run.events.size();) {
    const RunEvent& event = run.events[i];
    // A step that another delegate runs from now on, or another plan, has rows of its own.
    const auto is_same = [&](const StepTotal& step) {
      return step.name == event.name && step.delegate == event.delegate && step.nodes == event.nodes;
    };
    if (!is_first_run && (next >= steps_.size() || !is_same(steps_[next])))
      next = static_cast<size_t>(std::find_if(steps_.begin(), steps_.end(), is_same) - steps_.begin());
    if (next == steps_.size()) {
      steps_.emplace_back();
      steps_.back().name = event.name;
      steps_.back().delegate = event.delegate;
      steps_.back().nodes = event.nodes;
      steps_.back().op_types = event.op_types;
    }
    StepTotal& step = steps_[next++];
    step.time_ns += event.end_ns - event.begin_ns;
    step.bytes_in += event.bytes_in;
    step.bytes_out += event.bytes_out;
    step.bytes_moved += event.bytes_moved;
    step.copies += event.copies;
    step.bytes_copied += event.bytes_copied;
    size_t end = ++i;
    while (end < run.events.size() && !run.events[end].is_step) ++end;
    const bool within = LieWithin(event, run.events.data() + i, end - i);
    for (size_t place = 0; i < end; ++i, ++place) {
      const RunEvent& operation = run.events[i];
      const auto known = std::find_if(
          step.operations.begin() + static_cast<ptrdiff_t>(std::min(place, step.operations.size())),
          step.operations.end(),
          [&](const OperationTotal& it) { return it.name == operation.name && it.nodes == operation.nodes; });
      OperationTotal& total = known == step.operations.end() ? step.operations.emplace_back() : *known;
      total.name = operation.name;
      total.nodes = operation.nodes;
      total.clock = within ? ClockOf(operation) : "unrelated";
      total.metadata = operation.metadata;
      total.time_ns += operation.end_ns - operation.begin_ns;
    }
  }
}

std::vector<OperatorTotal> RunProfile::Operators() const {
  std::vector<OperatorTotal> rows;
  const auto add = [&](std::string op, const std::string& delegate, size_t nodes, uint64_t time_ns) {
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const OperatorTotal& it) { return it.op == op && it.delegate == delegate; });
    if (row == rows.end()) row = rows.insert(row, {std::move(op), delegate, 0, 0});
    row->nodes += nodes;
    row->time_ns += time_ns;
  };
  for (const StepTotal& step : steps_) {
    const bool is_split = step.nodes.size() > 1 && !step.operations.empty() && OperationsNs(step) <= step.time_ns &&
                          std::all_of(step.operations.begin(), step.operations.end(),
                                      [](const OperationTotal& it) { return it.clock != "unrelated"; });
    if (!is_split) {
      add(step.nodes.size() == 1 ? step.op_types.front() : CountedNames(step.op_types, Terminal()), step.delegate,
          step.nodes.size(), step.time_ns);
      continue;
    }
    for (const OperationTotal& operation : step.operations)
      add(OperatorOf(operation, step), step.delegate, operation.nodes.size(), operation.time_ns);
    add("(other)", step.delegate, 0, step.time_ns - OperationsNs(step));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OperatorTotal& a, const OperatorTotal& b) { return a.time_ns > b.time_ns; });
  return rows;
}

Shown RunProfile::StepTable(size_t top, const Terminal& terminal) const {
  Table table({{"delegate"},
               {"step, operation"},
               {"nodes", Align::kLeft, Fit::kList, 2},
               {"time", Align::kRight},
               {"share", Align::kRight, Fit::kMiddle, 1},
               {"moved", Align::kRight, Fit::kMiddle, 3},
               {"clock", Align::kLeft, Fit::kMiddle, 4},
               {"metadata", Align::kLeft, Fit::kMiddle, 3}});
  const uint64_t runs = std::max<uint64_t>(1, run_ns_.size());
  std::vector<uint64_t> times;
  for (const StepTotal& step : steps_) times.push_back(step.time_ns);
  std::sort(times.begin(), times.end(), std::greater<>());
  const uint64_t least = top == 0 || top >= times.size() ? 0 : times[top - 1];
  uint64_t others_ns = 0;
  size_t shown = 0;
  for (const StepTotal& step : steps_) {
    if (step.time_ns < least || (top != 0 && shown == top)) {
      others_ns += step.time_ns;
      continue;
    }
    ++shown;
    table.AddRow({step.delegate, step.name, NodesOf(step), DurationText(step.time_ns / runs),
                  ShareText(step.time_ns, total_ns_), step.bytes_moved == 0 ? "" : BytesText(step.bytes_moved / runs),
                  "host", ""});
    const std::vector<const OperationTotal*> longest = LongestOf(step.operations, top);
    for (const OperationTotal* operation : longest)
      table.AddRow({"", "  " + operation->name, SomeNodes(operation->nodes), DurationText(operation->time_ns / runs),
                    "", "", operation->clock, operation->metadata});
    if (longest.size() < step.operations.size())
      table.AddRow({"", fmt::format("  and {} more", step.operations.size() - longest.size())});
  }
  const auto sum = [&](const std::string& name, uint64_t time_ns) {
    table.AddRow({"", name, "", DurationText(time_ns / runs), ShareText(time_ns, total_ns_), "", "host", ""});
  };
  if (shown < steps_.size()) sum(Plural(steps_.size() - shown, "other step"), others_ns);
  sum("before the steps", before_ns_);
  sum("between steps", between_ns_);
  sum("after the steps", after_ns_);
  if (overlap_ns_ != 0)
    table.AddRow({"", "overlap of steps", "", "-" + DurationText(overlap_ns_ / runs),
                  "-" + ShareText(overlap_ns_, total_ns_), "", "host", ""});
  uint64_t copies = 0, bytes_copied = 0;
  for (const StepTotal& step : steps_) copies += step.copies, bytes_copied += step.bytes_copied;
  if (copies != 0)
    table.AddRow({"", Plural(copies / runs, "tensor") + " copied to and from devices", "", "", "",
                  BytesText(bytes_copied / runs), "", ""});
  sum("run", total_ns_);
  return table.Text(terminal, "  ");
}

Shown RunProfile::OperatorTable(const Terminal& terminal) const {
  Table table(
      {{"operator"}, {"delegate"}, {"nodes", Align::kRight}, {"time", Align::kRight}, {"share", Align::kRight}});
  const uint64_t runs = std::max<uint64_t>(1, run_ns_.size());
  const auto add = [&](const std::string& op, const std::string& delegate, size_t nodes, uint64_t time_ns) {
    table.AddRow({op, delegate, nodes == 0 ? "" : CountText(nodes), DurationText(time_ns / runs),
                  ShareText(time_ns, total_ns_)});
  };
  for (const OperatorTotal& row : Operators()) add(row.op, row.delegate, row.nodes, row.time_ns);
  add("outside of steps", "", 0, before_ns_ + between_ns_ + after_ns_);
  if (overlap_ns_ != 0)
    table.AddRow(
        {"overlap of steps", "", "", "-" + DurationText(overlap_ns_ / runs), "-" + ShareText(overlap_ns_, total_ns_)});
  add("run", "", 0, total_ns_);
  return table.Text(terminal, "  ");
}

Json RunProfile::ToJson() const {
  Json steps = Json::array(), operators = Json::array();
  for (const StepTotal& step : steps_) {
    Json operations = Json::array();
    for (const OperationTotal& it : step.operations)
      operations.push_back({{"name", it.name},
                            {"nodes", it.nodes},
                            {"clock", it.clock},
                            {"metadata", it.metadata},
                            {"time_ns", it.time_ns}});
    steps.push_back({{"name", step.name},
                     {"delegate", step.delegate},
                     {"nodes", step.nodes},
                     {"op_types", step.op_types},
                     {"time_ns", step.time_ns},
                     {"bytes_in", step.bytes_in},
                     {"bytes_out", step.bytes_out},
                     {"bytes_moved", step.bytes_moved},
                     {"copies", step.copies},
                     {"bytes_copied", step.bytes_copied},
                     {"operations", std::move(operations)}});
  }
  for (const OperatorTotal& it : Operators())
    operators.push_back({{"operator", it.op}, {"delegate", it.delegate}, {"nodes", it.nodes}, {"time_ns", it.time_ns}});
  return {{"runs", run_ns_.size()},
          {"latency_ns", cli::ToJson(SummarizeRuns(run_ns_))},
          {"time_ns", total_ns_},
          {"before_ns", before_ns_},
          {"between_ns", between_ns_},
          {"after_ns", after_ns_},
          {"overlap_ns", overlap_ns_},
          {"steps", std::move(steps)},
          {"operators", std::move(operators)}};
}

}  // namespace deputy::cli
