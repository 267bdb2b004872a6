#include "partition/eligibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.hpp"
#include "graph/graph.hpp"
#include "graph/upgrade/upgrade.hpp"

namespace deputy::host {

bool MatchesGlob(std::string_view glob, std::string_view text) {
  // Remembers the last '*' and the length it has matched: linear for one star, quadratic at worst, no recursion.
  size_t g = 0, t = 0, star = std::string_view::npos, eaten = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*') {
      ++g;
      ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      eaten = t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++eaten;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Eligibility::Eligibility(const Graph& graph, Delegates delegates, const PlacementOptions& options,
                         SupportMatrix& support)
    : graph_(graph),
      delegates_(delegates),
      options_(options),
      support_(support),
      host_(delegates.size()),
      rows_(delegates.size()) {
  for (size_t d = 0; d < delegates.size(); ++d) {
    host_[d].reserve(graph.nodes.size());
    for (NodeId node = 0; node < graph.nodes.size(); ++node) {
      Verdict by_rules = ByRules(d, node);
      host_[d].push_back(by_rules.supported() ? ByKind(d, node) : std::move(by_rules));
    }
  }
}

namespace {

std::string PlaceText(const std::string& place) { return place.empty() ? "" : " (" + place + ")"; }

}  // namespace

Verdict Eligibility::ByRules(size_t d, NodeId id) const {
  const Node& node = graph_.nodes[id];
  const DelegateLimits& rules = delegates_[d].limits;
  const auto named = [&](const std::vector<std::string>& globs) {
    if (globs.empty()) return false;
    const std::string name = NodeName(graph_, id);
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& g) { return MatchesGlob(g, name); });
  };
  const auto listed = [](const std::vector<std::string>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  const std::string_view op = node.primitive.op_type();
  const std::string& self = delegates_[d]->name();
  const auto refused = options_.refused.find({&graph_, d, id});
  if (refused != options_.refused.end()) return refused->second;
  for (const NodeRule& rule : options_.rules) {
    const bool matches = (rule.nodes.empty() || named(rule.nodes)) && (rule.ops.empty() || listed(rule.ops, op)) &&
                         (rule.domains.empty() || listed(rule.domains, node.primitive.domain()));
    if (!matches) continue;
    if (!rule.to.empty() && rule.to != self)
      return {Reason::kDeniedByRule, "a placement rule sends it to '" + rule.to + "'" + PlaceText(rule.place)};
    if (listed(rule.avoid, self))
      return {Reason::kDeniedByRule, "a placement rule keeps it away" + PlaceText(rule.place)};
  }
  if (listed(rules.deny_ops, op)) return {Reason::kDeniedByRule, "deny_ops" + PlaceText(rules.place)};
  if (named(rules.deny_nodes)) return {Reason::kDeniedByRule, "deny_nodes" + PlaceText(rules.place)};
  if (!rules.only_ops.empty() && !listed(rules.only_ops, op))
    return {Reason::kDeniedByRule, "not in allow_ops" + PlaceText(rules.place)};
  if (!rules.only_nodes.empty() && !named(rules.only_nodes))
    return {Reason::kDeniedByRule, "not in nodes" + PlaceText(rules.place)};
  return {Reason::kSupported, ""};
}

Verdict Eligibility::ByKind(size_t d, NodeId id) const {
  const Node& node = graph_.nodes[id];
  if (IsCpu(delegates_, d)) return {Reason::kSupported, ""};
  if (!node.regions.empty()) return {Reason::kOperatorUnknown, "the host runs control flow"};
  std::string no_tensor;
  const auto look_at_kind = [&](ValueId value) {
    if (no_tensor.empty() && value != kNone && !graph_.values[value].type.is_tensor())
      no_tensor = fmt::format("'{}' is {}", graph_.values[value].name, Describe(graph_, graph_.values[value].type));
  };
  for (const ValueId value : node.inputs) look_at_kind(value);
  for (const ValueId value : node.outputs) look_at_kind(value);
  if (!no_tensor.empty()) return {Reason::kNoTensor, std::move(no_tensor)};
  const auto is_open = [&](ValueId value) { return value != kNone && !graph_.values[value].type.is_static(); };
  const auto name_of = [&](ValueId value) { return Printable(graph_.values[value].name); };
  const uint32_t newest = delegates_[d]->newest_definition(node.primitive.domain());
  if (static_cast<uint32_t>(node.primitive.since_version()) > newest) {
    const auto oldest = static_cast<uint32_t>(OldestEquivalent(graph_, node));
    if (oldest > newest)
      return {Reason::kDefinitionTooNew,
              fmt::format("{}-{} is newer than version {} of its operators, the newest that the plugin was built for",
                          Printable(node.primitive.op_type()), oldest, newest)};
  }
  if (delegates_[d]->traits().takes_dynamic_shapes) {
    // Memory of an output is allocated by its extents, of which the number must be known.
    const auto is_unranked = [&](ValueId value) { return value != kNone && !graph_.values[value].type.ranked; };
    const auto output = std::find_if(node.outputs.begin(), node.outputs.end(), is_unranked);
    if (output == node.outputs.end()) return {Reason::kSupported, ""};
    return {Reason::kShapeDynamic, fmt::format("output '{}' has no known rank", name_of(*output))};
  }
  const auto output = std::find_if(node.outputs.begin(), node.outputs.end(), is_open);
  if (output != node.outputs.end())
    return {Reason::kShapeDynamic, fmt::format("needs static shapes, output '{}' has none", name_of(*output))};
  const auto input = std::find_if(node.inputs.begin(), node.inputs.end(), is_open);
  if (input != node.inputs.end())
    return {Reason::kShapeDynamic, fmt::format("needs static shapes, input '{}' has none", name_of(*input))};
  return {Reason::kSupported, ""};
}

const Verdict& Eligibility::Of(size_t d, NodeId node) {
  const Verdict& host = host_[d][node];
  return !host.supported() || delegates_[d]->proposer() != nullptr ? host : Row(d).verdicts[node];
}

const SupportMatrix::Row& Eligibility::Row(size_t d) {
  if (rows_[d] != nullptr) return *rows_[d];
  GraphView view{&graph_, {}, std::vector<uint8_t>(graph_.nodes.size(), 0)};
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    view.order.push_back(node);
    view.offered[node] = host_[d][node].supported();
  }
  rows_[d] = &support_.Of(*delegates_[d], view);
  return *rows_[d];
}

}  // namespace deputy::host
