#include "partition/assignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/plural.hpp"
#include "base/printable.hpp"
#include "graph/graph.hpp"

namespace deputy::host {
namespace {

void Warn(const Delegate& delegate, std::string_view message) {
  Log(LogLevel::kWarning, "{}: {}", delegate.name(), message);
}

}  // namespace

Assignment::Assignment(const Graph& graph, Delegates delegates, const PlacementOptions& options, SupportMatrix& support)
    : graph_(graph),
      delegates_(delegates),
      options_(options),
      eligibility_(graph, delegates, options, support),
      ranking_(options.policy->Rank(eligibility_)),
      successors_(NodeSuccessors(graph)),
      owner_(graph.nodes.size(), kUnassigned),
      groups_(graph.nodes.size()),
      verdicts_(delegates.size(), std::vector<Verdict>(graph.nodes.size(), Verdict{Reason::kTakenByOther, ""})) {}

Assignment::~Assignment() {
  for (size_t index = 0; index < groups_.atomic_count(); ++index) {
    const AtomicGroup& group = groups_.at(index);
    if (group.is_claim && !group.adopted) delegates_[group.delegate]->proposer()->ReleaseClaim(group.spec.claim);
  }
}

void Assignment::AssignFree() {
  while (OfferFree()) {
  }
  // The others keep their own reason against a node, or the name of its owner now.
  for (size_t d = 0; d < delegates_.size(); ++d)
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      if (IsFree(node) || !IsPending(d, node)) continue;
      verdict(d, node) = eligibility_.Of(d, node);
      if (verdict(d, node).supported()) verdict(d, node) = {Reason::kTakenByOther, delegates_[owner_[node]]->name()};
    }
}

std::vector<std::vector<Verdict>> Assignment::TakeVerdicts() {
  for (size_t d = 0; d < delegates_.size() && ranking_.reasons != nullptr; ++d)
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      if (IsPending(d, node)) verdict(d, node) = ranking_.reasons->WhyNot(d, node, owner_[node]);
  return std::move(verdicts_);
}

bool Assignment::OfferFree() {
  bool offered = false;
  for (size_t turn = 0; turn < delegates_.size(); ++turn) {
    const size_t d = ranking_.order.empty() ? turn : ranking_.order[turn];
    std::optional<GraphView> view = View(d);
    if (!view) continue;
    offered = true;
    if (delegates_[d]->proposer() != nullptr) {
      RequestClaims(d, *view);
    } else {
      AssignSupported(d, *std::move(view));
    }
  }
  return offered;
}

bool Assignment::IsPreferred(size_t d, NodeId node) {
  for (size_t other = 0; other < ranking_.ranks.size(); ++other)
    if (ranking_.ranks[other][node] < ranking_.ranks[d][node] && IsPending(other, node) &&
        eligibility_.Of(other, node).supported())
      return false;
  return true;
}

std::optional<GraphView> Assignment::View(size_t d) {
  GraphView view{&graph_, {}, std::vector<uint8_t>(graph_.nodes.size(), 0), {}};
  bool any = false;
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    if (!IsFree(node) || !IsPending(d, node)) continue;
    const Verdict& host = eligibility_.OfHost(d, node);
    if (!host.supported()) {
      verdict(d, node) = host;
    } else if (IsPreferred(d, node)) {
      view.offered[node] = 1;
      any = true;
    }
  }
  if (!any) return std::nullopt;
  if (delegates_[d]->proposer() == nullptr && delegates_[d]->grouper() == nullptr) return view;
  view.group_of = groups_.of();
  // A topological order of the quotient graph: atomic groups of other delegates stay in one piece, offered nodes form
  // long runs.
  const Successors groups = Contract(successors_, groups_.of(), groups_.count());
  const CompressedLists members = Members();
  std::vector<uint8_t> preferred(groups.size(), 0);
  for (NodeId node = 0; node < graph_.nodes.size(); ++node)
    if (view.offered[node]) preferred[groups_.of(node)] = 1;
  for (const uint32_t group : TopologicalOrder(groups, preferred))
    view.order.insert(view.order.end(), members[group].begin(), members[group].end());
  return view;
}

CompressedLists Assignment::Members() const {
  return CompressedLists(groups_.count(), [this](const auto& add) {
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) add(groups_.of(node), node);
  });
}

void Assignment::AssignSupported(size_t d, GraphView view) {
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    if (!view.offered[node]) continue;
    verdict(d, node) = eligibility_.Of(d, node);
    view.offered[node] = verdict(d, node).supported();
    if (verdict(d, node).supported()) owner_[node] = static_cast<uint32_t>(d);
  }
  if (eligibility_.Answered(d) && delegates_[d]->grouper() != nullptr) RequestGroups(d, view);
}

void Assignment::RequestGroups(size_t d, const GraphView& view) {
  const Result<std::vector<std::vector<NodeId>>> named = delegates_[d]->grouper()->Groups(view);
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
  Result<std::vector<PartitionSpec>> proposed = delegates_[d]->proposer()->Propose(view);
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
      delegates_[d]->proposer()->ReleaseClaim(spec.claim);
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
    if (view.offered[node] && IsFree(node) && IsPending(d, node))
      verdict(d, node) = {Reason::kNotAnswered, "not in any claim"};
}

void Assignment::Refuse(size_t index, const Verdict& why) {
  AtomicGroup& group = groups_.at(index);
  for (const NodeId node : groups_.Dissolve(index)) {
    owner_[node] = kUnassigned;
    verdict(group.delegate, node) = why;
  }
  if (!group.is_claim) return;
  delegates_[group.delegate]->proposer()->ReleaseClaim(group.spec.claim);
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
    const CompressedLists members = Members();
    const auto cycles = Cycles(Contract(successors_, groups_.of(), groups_.count()));
    if (cycles.empty()) return;
    for (const std::vector<uint32_t>& cycle : cycles) {
      if (GrowOver(cycle, members)) continue;
      const uint32_t last = *std::max_element(cycle.begin(), cycle.end());
      Refuse(groups_.index_of(last), {Reason::kWouldMakeCycle, "it would make a cycle of partitions"});
    }
  }
}

bool Assignment::GrowOver(const std::vector<uint32_t>& cycle, const CompressedLists& members) {
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
  const DelegateLimits& rules = delegates_[d].limits;
  if (IsCpu(delegates_, d)) return {};
  if (nodes.size() < rules.min_nodes) return fmt::format("{} of min_nodes {}", nodes.size(), rules.min_nodes);
  if (rules.min_multiply_adds == 0) return {};
  uint64_t sum = 0;
  for (const NodeId node : nodes) sum += MultiplyAdds(graph_, graph_.nodes[node]);
  return sum < rules.min_multiply_adds ? "fewer multiply-adds than min_flops requires" : "";
}

Status Assignment::RequireOwners() const {
  std::string list;
  size_t count = 0;
  bool denied = false;
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    if (!IsFree(node) &&
        (options_.cpu_fallback || !IsCpu(delegates_, owner_[node]) || !graph_.nodes[node].regions.empty()))
      continue;
    if (++count > 20) continue;
    list += "\n  " + Describe(graph_, node);
    for (size_t d = 0; d < delegates_.size(); ++d) {
      if (IsCpu(delegates_, d) && !options_.cpu_fallback) continue;
      const Verdict& why = verdicts_[d][node];
      if (delegates_[d]->traits().runs_custom_operators_only) continue;  // no entry of the configuration
      denied = denied || why.reason == Reason::kDeniedByRule;
      list += fmt::format("; {}: {}{}{}", delegates_[d]->name(), NameOf(why.reason), why.detail.empty() ? "" : ", ",
                          Printable(why.detail, 500));
    }
  }
  if (count == 0) return {};
  if (count > 20) list += fmt::format("\n  and {} more", count - 20);
  Status status =
      Error(StatusCode::kNotSupported, "{} of {} {} {} any delegate:{}", count, Plural(graph_.nodes.size(), "node"),
            count == 1 ? "is" : "are", denied ? "not supported by, or denied by a rule to," : "not supported by", list);
  if (options_.cpu_fallback) return status;
  return std::move(status).Advise("fallback is 'none'; with 'fallback: cpu' the CPU runs them");
}

AtomicGroup* Assignment::ClaimOf(std::span<const NodeId> cluster) {
  const uint32_t id = groups_.of(cluster.front());
  if (!groups_.is_atomic(id)) return nullptr;
  AtomicGroup& group = groups_.at(groups_.index_of(id));
  return group.is_claim ? &group : nullptr;
}

}  // namespace deputy::host
