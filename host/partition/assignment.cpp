#include "partition/assignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "graph/graph.hpp"

namespace deputy::host {
namespace {

void Warn(const Delegate& delegate, std::string_view message) {
  Log(LogLevel::kWarning, "{}: {}", delegate.name(), message);
}

}  // namespace

Assignment::Assignment(const Graph& graph, std::span<Delegate* const> delegates, const PlacementOptions& options,
                       SupportMatrix& support)
    : graph_(graph),
      delegates_(delegates),
      options_(options),
      support_(support),
      rows_(delegates.size(), nullptr),
      successors_(NodeSuccessors(graph)),
      owner_(graph.nodes.size(), kUnassigned),
      groups_(graph.nodes.size()),
      verdicts_(delegates.size(), std::vector<Verdict>(graph.nodes.size())) {}

Assignment::~Assignment() {
  for (size_t index = 0; index < groups_.atomic_count(); ++index) {
    const AtomicGroup& group = groups_.at(index);
    if (group.is_claim && !group.adopted) delegates_[group.delegate]->ReleaseClaim(group.spec.claim);
  }
}

void Assignment::AssignAll() {
  for (size_t d = 0; d < delegates_.size(); ++d) {
    Assign(d, View(d, /*again=*/false));
    const SupportMatrix::Row* row = delegates_[d]->proposes() ? nullptr : &SupportOf(d);
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      if (IsFree(node) || owner_[node] >= d) continue;
      Verdict why = Denied(d, node);
      if (why.supported() && row != nullptr) why = row->verdicts[node];
      if (why.supported()) why = {Reason::kTakenByOther, delegates_[owner_[node]]->name()};
      verdict(d, node) = std::move(why);
    }
  }
}

void Assignment::AssignFree() {
  for (size_t d = 0; d < delegates_.size(); ++d) {
    const GraphView view = View(d, /*again=*/true);
    if (std::find(view.offered.begin(), view.offered.end(), 1) != view.offered.end()) Assign(d, view);
  }
}

void Assignment::Assign(size_t d, const GraphView& view) {
  if (delegates_[d]->proposes()) {
    RequestClaims(d, view);
  } else {
    AssignSupported(d, view);
  }
}

const SupportMatrix::Row& Assignment::SupportOf(size_t d) {
  if (rows_[d] != nullptr) return *rows_[d];
  GraphView view{&graph_, {}, std::vector<uint8_t>(graph_.nodes.size(), 0)};
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    view.order.push_back(node);
    view.offered[node] = Denied(d, node).supported();
  }
  rows_[d] = &support_.Of(*delegates_[d], view);
  return *rows_[d];
}

GraphView Assignment::View(size_t d, bool again) {
  GraphView view{&graph_, {}, std::vector<uint8_t>(graph_.nodes.size(), 0), groups_.of()};
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    if (!IsFree(node) || (again && verdict(d, node).reason != Reason::kTakenByOther)) continue;
    Verdict denied = Denied(d, node);
    if (denied.supported()) {
      view.offered[node] = 1;
    } else {
      verdict(d, node) = std::move(denied);
    }
  }
  if (std::find(view.offered.begin(), view.offered.end(), 1) == view.offered.end() && again) return view;
  // A topological order of the quotient graph: atomic groups of other delegates stay in one piece, offered nodes form
  // long runs.
  const Successors groups = Contract(successors_, groups_.of(), groups_.count());
  std::vector<uint8_t> preferred(groups.size(), 0);
  std::vector<std::vector<NodeId>> members(groups.size());
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    members[groups_.of(node)].push_back(node);
    if (view.offered[node]) preferred[groups_.of(node)] = 1;
  }
  for (const uint32_t group : TopologicalOrder(groups, preferred))
    view.order.insert(view.order.end(), members[group].begin(), members[group].end());
  return view;
}

Verdict Assignment::Denied(size_t d, NodeId id) const {
  const Node& node = graph_.nodes[id];
  const DelegateLimits& rules = options_.delegates[d];
  const auto named = [&](const std::vector<std::string>& globs) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& g) { return MatchesGlob(g, node.name); });
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
      return {Reason::kDeniedByRule, "a placement rule sends it to '" + rule.to + "'"};
    if (listed(rule.avoid, self)) return {Reason::kDeniedByRule, "a placement rule keeps it away"};
  }
  if (listed(rules.deny_ops, op)) return {Reason::kDeniedByRule, "deny_ops"};
  if (named(rules.deny_nodes)) return {Reason::kDeniedByRule, "deny_nodes"};
  if (!rules.only_ops.empty() && !listed(rules.only_ops, op)) return {Reason::kDeniedByRule, "not in allow_ops"};
  if (!rules.only_nodes.empty() && !named(rules.only_nodes)) return {Reason::kDeniedByRule, "not in nodes"};
  if (d == cpu()) return {Reason::kSupported, ""};
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
  const auto output = std::find_if(node.outputs.begin(), node.outputs.end(), is_open);
  if (output != node.outputs.end())
    return {Reason::kShapeDynamic, fmt::format("needs static shapes, output '{}' has none", name_of(*output))};
  const auto input = std::find_if(node.inputs.begin(), node.inputs.end(), is_open);
  if (!delegates_[d]->takes_dynamic_shapes() && input != node.inputs.end())
    return {Reason::kShapeDynamic, fmt::format("needs static shapes, input '{}' has none", name_of(*input))};
  return {Reason::kSupported, ""};
}

void Assignment::AssignSupported(size_t d, const GraphView& view) {
  const SupportMatrix::Row& row = SupportOf(d);
  GraphView accepted = view;
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    if (!view.offered[node]) continue;
    verdict(d, node) = row.verdicts[node];
    accepted.offered[node] = verdict(d, node).supported();
    if (verdict(d, node).supported()) owner_[node] = static_cast<uint32_t>(d);
  }
  if (row.answered && delegates_[d]->groups()) RequestGroups(d, std::move(accepted));
}

void Assignment::RequestGroups(size_t d, GraphView view) {
  const Result<std::vector<std::vector<NodeId>>> named = delegates_[d]->Groups(view);
  if (!named.ok()) return Warn(*delegates_[d], named.status().ToString());
  const size_t first = groups_.atomic_count();
  for (const std::vector<NodeId>& nodes : *named) {
    if (!IsComplete(d, nodes)) continue;
    AtomicGroup group;
    group.delegate = d;
    group.spec.nodes = nodes;
    groups_.Add(std::move(group));
  }
  BreakCycles(first);
}

bool Assignment::IsComplete(size_t d, const std::vector<NodeId>& group) {
  std::string missing;
  std::vector<NodeId> held;
  for (const NodeId node : group) {
    if (owner_[node] == d && !groups_.is_atomic(groups_.of(node))) {
      held.push_back(node);
    } else if (missing.empty()) {
      const bool here = owner_[node] == d;
      missing = fmt::format("without {}: {}", Describe(graph_, node),
                            here ? "in another group" : NameOf(verdicts_[d][node].reason));
    }
  }
  if (missing.empty()) return true;
  Reject(d, held, {Reason::kGroupIncomplete, missing});
  return false;
}

void Assignment::RequestClaims(size_t d, const GraphView& view) {
  Result<std::vector<PartitionSpec>> proposed = delegates_[d]->Propose(view);
  if (!proposed.ok()) {
    // A delegate that cannot propose for this model is skipped with a warning.
    Warn(*delegates_[d], proposed.status().ToString());
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      if (view.offered[node]) verdict(d, node) = {Reason::kOther, proposed.status().message()};
    return;
  }
  const size_t first = groups_.atomic_count();
  for (PartitionSpec& spec : *proposed) {
    std::sort(spec.nodes.begin(), spec.nodes.end());
    const bool valid =
        !spec.nodes.empty() && std::adjacent_find(spec.nodes.begin(), spec.nodes.end()) == spec.nodes.end() &&
        std::all_of(spec.nodes.begin(), spec.nodes.end(),
                    [&](NodeId node) { return node < graph_.nodes.size() && view.offered[node] && IsFree(node); });
    if (!valid) {
      Warn(*delegates_[d], "a claim names a node twice, or one that was not offered; refused");
      delegates_[d]->ReleaseClaim(spec.claim);
      continue;
    }
    for (const NodeId node : spec.nodes) {
      owner_[node] = static_cast<uint32_t>(d);
      verdict(d, node) = {Reason::kSupported, ""};
    }
    groups_.Add({d, std::move(spec), /*is_claim=*/true});
  }
  BreakCycles(first);
  for (size_t index = first; index < groups_.atomic_count(); ++index) {
    const std::vector<NodeId>& nodes = groups_.at(index).spec.nodes;
    if (nodes.empty()) continue;
    if (std::string small = TooSmall(d, nodes); !small.empty())
      Refuse(index, {Reason::kPartitionTooSmall, std::move(small)});
  }
  for (NodeId node = 0; node < graph_.nodes.size(); ++node)
    if (view.offered[node] && IsFree(node) &&
        (verdict(d, node).reason == Reason::kNotAnswered || verdict(d, node).reason == Reason::kTakenByOther))
      verdict(d, node) = {Reason::kNotAnswered, "not in any claim"};
}

void Assignment::Refuse(size_t index, const Verdict& why) {
  AtomicGroup& group = groups_.at(index);
  for (const NodeId node : groups_.Dissolve(index)) {
    owner_[node] = kUnassigned;
    verdict(group.delegate, node) = why;
  }
  if (!group.is_claim) return;
  delegates_[group.delegate]->ReleaseClaim(group.spec.claim);
  group.adopted = true;
}

void Assignment::Reject(size_t d, std::span<const NodeId> nodes, const Verdict& why) {
  for (const NodeId node : nodes) {
    if (IsFree(node)) continue;  // released with another node of its group
    if (groups_.is_atomic(groups_.of(node)))
      Refuse(groups_.index_of(groups_.of(node)),
             {Reason::kGroupIncomplete, fmt::format("without {}: {}", Describe(graph_, node), NameOf(why.reason))});
    owner_[node] = kUnassigned;
  }
  for (const NodeId node : nodes) verdict(d, node) = why;
}

void Assignment::BreakCycles(size_t first) {
  if (first == groups_.atomic_count()) return;
  for (;;) {
    std::vector<std::vector<NodeId>> members(groups_.count());
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) members[groups_.of(node)].push_back(node);
    const auto cycles = Cycles(Contract(successors_, groups_.of(), groups_.count()));
    if (cycles.empty()) return;
    for (const std::vector<uint32_t>& cycle : cycles) {
      if (GrowOver(cycle, members)) continue;
      const uint32_t last = *std::max_element(cycle.begin(), cycle.end());
      Refuse(groups_.index_of(last), {Reason::kWouldMakeCycle, "it would make a cycle of partitions"});
    }
  }
}

bool Assignment::GrowOver(const std::vector<uint32_t>& cycle, const std::vector<std::vector<NodeId>>& members) {
  const size_t d = owner_[members[cycle.front()].front()];
  AtomicGroup grown;
  grown.delegate = d;
  for (const uint32_t group : cycle) {
    const bool claim = groups_.is_atomic(group) && groups_.at(groups_.index_of(group)).is_claim;
    if (claim || d == kUnassigned || owner_[members[group].front()] != d) return false;
    grown.spec.nodes.insert(grown.spec.nodes.end(), members[group].begin(), members[group].end());
  }
  std::sort(grown.spec.nodes.begin(), grown.spec.nodes.end());
  for (const uint32_t group : cycle)
    if (groups_.is_atomic(group)) groups_.Dissolve(groups_.index_of(group));
  groups_.Add(std::move(grown));
  return true;
}

std::string Assignment::TooSmall(size_t d, std::span<const NodeId> nodes) const {
  const DelegateLimits& rules = options_.delegates[d];
  if (d == cpu()) return {};
  if (nodes.size() < rules.min_nodes) return fmt::format("{} of min_nodes {}", nodes.size(), rules.min_nodes);
  if (rules.min_multiply_adds == 0) return {};
  uint64_t sum = 0;
  for (const NodeId node : nodes) sum += MultiplyAdds(graph_, graph_.nodes[node]);
  return sum < rules.min_multiply_adds ? "fewer multiply-adds than min_flops requires" : "";
}

Status Assignment::RequireOwners() const {
  std::string list;
  size_t count = 0;
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    if (!IsFree(node) && (options_.cpu_fallback || owner_[node] != cpu() || !graph_.nodes[node].regions.empty()))
      continue;
    if (++count > 20) continue;
    list += "\n  " + Describe(graph_, node);
    for (size_t d = 0; d < delegates_.size(); ++d) {
      if (d == cpu() && !options_.cpu_fallback) continue;
      const Verdict& why = verdicts_[d][node];
      list += fmt::format("; {}: {}{}{}", delegates_[d]->name(), NameOf(why.reason), why.detail.empty() ? "" : ", ",
                          Printable(why.detail, 500));
    }
  }
  if (count == 0) return {};
  if (count > 20) list += fmt::format("\n  and {} more", count - 20);
  Status status = Error(StatusCode::kNotSupported, "{} of {} nodes are not supported by any delegate:{}", count,
                        graph_.nodes.size(), list);
  if (options_.cpu_fallback) return status;
  return std::move(status).Advise("fallback is 'none'; with 'fallback: cpu' the CPU runs them");
}

std::vector<std::vector<NodeId>> Assignment::Clusters() const {
  std::vector<uint32_t> color(groups_.count(), 0);
  std::vector<uint8_t> alone(groups_.count(), 1);  // groups without nodes have no owner
  for (uint32_t group = 0; group < color.size(); ++group)
    color[group] = static_cast<uint32_t>(delegates_.size()) + group;
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    const uint32_t group = groups_.of(node);
    if (groups_.is_atomic(group) && groups_.at(groups_.index_of(group)).is_claim) continue;  // its own color
    color[group] = owner_[node];
    alone[group] = delegates_[owner_[node]]->one_node_partitions();
  }
  const std::vector<uint32_t> cluster_of = Cluster(successors_, {groups_.of(), groups_.count(), color, alone});
  std::vector<std::vector<NodeId>> clusters(groups_.count());
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) clusters[cluster_of[groups_.of(node)]].push_back(node);
  clusters.erase(std::remove_if(clusters.begin(), clusters.end(), [](const auto& list) { return list.empty(); }),
                 clusters.end());
  return clusters;
}

AtomicGroup* Assignment::ClaimOf(std::span<const NodeId> cluster) {
  const uint32_t id = groups_.of(cluster.front());
  if (!groups_.is_atomic(id)) return nullptr;
  AtomicGroup& group = groups_.at(groups_.index_of(id));
  return group.is_claim ? &group : nullptr;
}

}  // namespace deputy::host
