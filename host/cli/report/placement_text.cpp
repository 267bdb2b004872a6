#include "cli/report/placement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kNamesShown = 6;

std::string JoinedSome(const std::vector<std::string>& names) {
  if (names.size() <= kNamesShown) return Joined(names);
  const std::vector<std::string> first(names.begin(), names.begin() + kNamesShown);
  return fmt::format("{}, and {} more", Joined(first), names.size() - kNamesShown);
}

std::string FileName(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// "1.2 ms, 3.4 MB"; "" where nothing is known.
std::string EstimateText(const PartitionReport& partition) {
  std::vector<std::string> parts;
  const EstimateReport& estimate = partition.estimate;
  if (estimate.latency_ns >= 0) parts.push_back(DurationText(static_cast<uint64_t>(estimate.latency_ns)));
  if (estimate.memory_bytes >= 0) parts.push_back(BytesText(static_cast<uint64_t>(estimate.memory_bytes)));
  if (estimate.energy_nj >= 0)
    parts.push_back(fmt::format("{} mJ", NumberText(static_cast<double>(estimate.energy_nj) / 1e6)));
  return Joined(parts);
}

// The operators of each partition, by region and name.
using OperatorsOf = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

OperatorsOf OperatorsOfPartitions(const PlacementReport& report) {
  OperatorsOf operators;
  for (const NodeReport& node : report.nodes) operators[{node.region, node.partition}].push_back(node.op_type);
  return operators;
}

// "restored", "stored" or "not stored"; empty for the CPU, which makes its executables from the model at once.
std::string CacheText(const PlacementReport& report, const PartitionReport& partition) {
  if (partition.delegate == report.delegates.back().name) return "";
  if (partition.executable != "compiled") return partition.executable;
  return partition.not_cached.empty() ? "stored" : "not stored";
}

// In order of first appearance, with the number of partitions.
std::vector<std::pair<std::string, size_t>> ReasonsNotCached(const PlacementReport& report,
                                                             const DelegateReport& delegate) {
  std::vector<std::pair<std::string, size_t>> reasons;
  if (delegate.name == report.delegates.back().name) return reasons;
  for (const PartitionReport& partition : report.partitions) {
    if (partition.delegate != delegate.name || partition.not_cached.empty()) continue;
    const auto known = std::find_if(reasons.begin(), reasons.end(),
                                    [&](const auto& reason) { return reason.first == partition.not_cached; });
    if (known == reasons.end()) {
      reasons.emplace_back(partition.not_cached, 1);
    } else {
      ++known->second;
    }
  }
  return reasons;
}

std::string Operator(const NodeReport& node) {
  return (node.domain.empty() ? "" : node.domain + ".") + node.op_type + fmt::format("-{}", node.since_version);
}

}  // namespace

std::string CountedNames(const std::vector<std::string>& names, const Terminal& terminal) {
  std::vector<std::pair<std::string, size_t>> counted;
  for (const std::string& name : names) {
    const auto found = std::find_if(counted.begin(), counted.end(), [&](const auto& c) { return c.first == name; });
    if (found == counted.end()) {
      counted.emplace_back(name, 1);
    } else {
      ++found->second;
    }
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : counted)
    words.push_back(count == 1 ? name : fmt::format("{} {}{}", name, terminal.Either("×", "x"), count));
  return JoinedSome(words);
}

Shown DelegateTable(const PlacementReport& report, const Terminal& terminal) {
  Table table({{"delegate"},
               {"plugin", Align::kLeft, Fit::kMiddle, 4},
               {"nodes", Align::kRight},
               {"", Align::kRight, Fit::kMiddle, 2},
               {"partitions", Align::kRight, Fit::kMiddle, 3},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 1},
               {"", Align::kRight, Fit::kMiddle, 1}});
  for (const DelegateReport& delegate : report.delegates)
    table.AddRow({delegate.name, FileName(delegate.plugin), CountText(delegate.nodes),
                  ShareText(delegate.nodes, report.nodes.size()), CountText(delegate.partitions),
                  CountText(delegate.multiply_adds), ShareText(delegate.multiply_adds, report.multiply_adds)});
  return table.Text(terminal, "  ");
}

std::string ClockSentence(const DeviceReport& device) {
  std::string requested = LevelText(device.level_requested);
  if (requested.empty() && device.frequency_requested_hz != 0) requested = ClockText(device.frequency_requested_hz);
  std::string granted = device.frequency_granted_hz != 0 ? ClockText(device.frequency_granted_hz) : "";
  const std::string level = LevelText(device.level_granted);
  if (!level.empty()) granted += granted.empty() ? level : fmt::format(" ({})", level);
  if (granted.empty()) return requested.empty() ? "" : fmt::format("requested {}, granted unknown", requested);
  return requested.empty() ? fmt::format("runs at {}", granted)
                           : fmt::format("requested {}, granted {}", requested, granted);
}

Shown DelegateNotes(const PlacementReport& report, const Terminal& terminal) {
  Shown text;
  for (const DelegateReport& delegate : report.delegates) {
    std::vector<std::string> parts;
    if (delegate.id != delegate.name) parts.push_back("delegate " + delegate.id);
    for (const auto& [name, value] : delegate.options) parts.push_back(fmt::format("{}: {}", name, value));
    if (delegate.has_device) {
      const std::string clock = ClockSentence(delegate.device);
      parts.push_back(delegate.device.device + (clock.empty() ? "" : " " + clock));
    }
    if (!parts.empty()) text += Paragraph(terminal, "  ", Show("{}: {}", delegate.name, Joined(parts)));
    const auto overlapping = std::count_if(
        report.partitions.begin(), report.partitions.end(),
        [&](const PartitionReport& partition) { return partition.delegate == delegate.name && partition.overlaps; });
    if (overlapping != 0)
      text += Paragraph(terminal, "  ",
                        Show("{}: {} may run beside those of other delegates", delegate.name,
                             Plural(static_cast<size_t>(overlapping), "partition")));
    for (const auto& [reason, count] : ReasonsNotCached(report, delegate))
      text +=
          Paragraph(terminal, "  ", Show("{}: {} not cached: {}", delegate.name, Plural(count, "partition"), reason));
  }
  return text;
}

Shown PartitionTable(const PlacementReport& report, const Terminal& terminal) {
  Table table({{"partition"},
               {"nodes", Align::kRight},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 1},
               {"cache", Align::kLeft, Fit::kMiddle, 3},
               {"estimate", Align::kLeft, Fit::kWrap, 4},
               {"operators", Align::kLeft, Fit::kList, 2},
               {"inputs", Align::kLeft, Fit::kList, 6},
               {"outputs", Align::kLeft, Fit::kList, 5}});
  OperatorsOf operators_of = OperatorsOfPartitions(report);
  for (size_t first = 0, end = 0; first < report.partitions.size(); first = end) {
    const PartitionReport& partition = report.partitions[first];
    // Consecutive partitions of one node share a line: delegates without clustering would fill the screen.
    const auto joins = [&](const PartitionReport& other) {
      return other.delegate == partition.delegate && other.region == partition.region && other.nodes.size() == 1;
    };
    std::vector<std::string> operators;
    uint64_t multiply_adds = 0;
    size_t nodes = 0;
    std::string cache = CacheText(report, partition);
    do {
      const PartitionReport& part = report.partitions[end];
      const std::vector<std::string>& more = operators_of[{part.region, part.name}];
      operators.insert(operators.end(), more.begin(), more.end());
      multiply_adds += part.multiply_adds;
      nodes += part.nodes.size();
      if (CacheText(report, part) != cache) cache = "partly";
      ++end;
    } while (end < report.partitions.size() && partition.nodes.size() == 1 && joins(report.partitions[end]));
    std::string name = partition.region.empty() ? partition.name : partition.region + ": " + partition.name;
    if (end - first > 1) name += " to " + report.partitions[end - 1].name;
    table.AddRow({name, CountText(nodes), multiply_adds == 0 ? "" : CountText(multiply_adds), cache,
                  end - first > 1 ? "" : EstimateText(partition), CountedNames(operators, terminal),
                  end - first > 1 ? "" : JoinedSome(partition.inputs),
                  end - first > 1 ? "" : JoinedSome(partition.outputs)});
  }
  return table.Text(terminal, "  ");
}

Shown RefusalTable(const PlacementReport& report, const Terminal& terminal) {
  struct Group {
    size_t nodes = 0;
    std::vector<std::string> operators;
    std::string detail;
  };
  Shown text;
  for (const DelegateReport& delegate : report.delegates) {
    std::vector<std::pair<std::string, Group>> groups;
    size_t refused = 0;
    for (const NodeReport& node : report.nodes) {
      const auto why = std::find_if(node.refusals.begin(), node.refusals.end(),
                                    [&](const RefusalReport& refusal) { return refusal.delegate == delegate.name; });
      // Delegates after the owner were not needed, which is not a refusal.
      const auto place = [&](const std::string& name) {
        return std::find_if(report.delegates.begin(), report.delegates.end(),
                            [&](const DelegateReport& d) { return d.name == name; });
      };
      if (why == node.refusals.end() || place(delegate.name) > place(node.delegate)) continue;
      ++refused;
      auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == why->reason; });
      if (group == groups.end()) group = groups.insert(groups.end(), {why->reason, Group()});
      ++group->second.nodes;
      group->second.operators.push_back(node.op_type);
      if (group->second.detail.empty()) group->second.detail = why->detail;
    }
    if (groups.empty()) continue;
    Table table({{"reason", Align::kLeft, Fit::kWrap},
                 {"nodes", Align::kRight},
                 {"operators", Align::kLeft, Fit::kList, 1},
                 {"detail of the first node", Align::kLeft, Fit::kWrap}});
    for (const auto& [reason, group] : groups)
      table.AddRow({reason, CountText(group.nodes), CountedNames(group.operators, terminal), group.detail});
    text += Show("not on {}: {}\n{}", delegate.name, Plural(refused, "node"), table.Text(terminal, "  "));
  }
  return text;
}

Shown OperatorTable(const PlacementReport& report, size_t top, const Terminal& terminal) {
  struct Sum {
    std::string op;
    size_t nodes = 0;
    uint64_t multiply_adds = 0;
    std::vector<std::string> delegates;
  };
  std::map<std::string, Sum> sums;
  for (const NodeReport& node : report.nodes) {
    Sum& sum = sums[Operator(node)];
    sum.op = Operator(node);
    ++sum.nodes;
    sum.multiply_adds += node.multiply_adds;
    sum.delegates.push_back(node.delegate);
  }
  std::vector<Sum> sorted;
  for (auto& [op, sum] : sums) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Sum& a, const Sum& b) {
    return std::tie(a.multiply_adds, a.nodes) > std::tie(b.multiply_adds, b.nodes);
  });
  Table table({{"operator"},
               {"nodes", Align::kRight},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 1},
               {"", Align::kRight, Fit::kMiddle, 1},
               {"delegates", Align::kLeft, Fit::kList, 2}});
  for (size_t i = 0; i < RowsShown(sorted.size(), top); ++i)
    table.AddRow({sorted[i].op, CountText(sorted[i].nodes),
                  sorted[i].multiply_adds == 0 ? "" : CountText(sorted[i].multiply_adds),
                  sorted[i].multiply_adds == 0 ? "" : ShareText(sorted[i].multiply_adds, report.multiply_adds),
                  CountedNames(sorted[i].delegates, terminal)});
  Shown text = table.Text(terminal, "  ");
  text += RestText(sorted.size(), top, "operator");
  return text;
}

Shown NodeTable(const PlacementReport& report, size_t top, const Terminal& terminal) {
  Table table({{"node"},
               {"operator"},
               {"delegate"},
               {"partition", Align::kLeft, Fit::kMiddle, 3},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 2},
               {"first refusal", Align::kLeft, Fit::kWrap, 1}});
  std::vector<const NodeReport*> nodes;
  for (const NodeReport& node : report.nodes) nodes.push_back(&node);
  if (top != 0)
    std::stable_sort(nodes.begin(), nodes.end(),
                     [](const NodeReport* a, const NodeReport* b) { return a->multiply_adds > b->multiply_adds; });
  nodes.resize(RowsShown(nodes.size(), top));
  for (const NodeReport* const shown : nodes) {
    const NodeReport& node = *shown;
    std::string why;
    if (!node.refusals.empty() && node.delegate != report.delegates.front().name) {
      const RefusalReport& first = node.refusals.front();
      why = fmt::format("{}: {}", first.delegate, first.reason);
    }
    table.AddRow({node.region.empty() ? node.name : node.region + "/" + node.name, Operator(node), node.delegate,
                  node.partition, node.multiply_adds == 0 ? "" : CountText(node.multiply_adds), why});
  }
  Shown text = table.Text(terminal, "  ");
  text += RestText(report.nodes.size(), top, "node");
  return text;
}

Shown NodeText(const PlacementReport& report, const NodeReport& node, const Terminal& terminal) {
  KeyTable about;
  about.Add("operator", Operator(node));
  if (!node.region.empty()) about.Add("region", node.region);
  about.Add("delegate", node.delegate);
  about.Add("multiply-adds", fmt::format("{} ({} of the model)", CountText(node.multiply_adds),
                                         ShareText(node.multiply_adds, report.multiply_adds)));
  for (const PartitionReport& partition : report.partitions) {
    if (partition.name != node.partition || partition.region != node.region) continue;
    about.Add("partition", fmt::format("{}, {}", partition.name, Plural(partition.nodes.size(), "node")));
    about.Add("  nodes", JoinedSome(partition.nodes));
    about.Add("  inputs", Joined(partition.inputs));
    about.Add("  outputs", Joined(partition.outputs));
    if (const std::string cache = CacheText(report, partition); !cache.empty())
      about.Add("  cache", cache + (partition.not_cached.empty() ? "" : ": " + partition.not_cached));
  }
  Shown text = Show("{}\n{}", terminal.Paint(Paint::kBold, node.name), about.Text(terminal, "  "));
  for (const RefusalReport& refusal : node.refusals)
    text += Paragraph(terminal, "  ",
                      Show("not on {}: {}{}", refusal.delegate, refusal.reason,
                           refusal.detail.empty() ? std::string() : " (" + refusal.detail + ")"));
  return text;
}

}  // namespace deputy::cli
