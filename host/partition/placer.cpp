#include "partition/placer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.hpp"
#include "graph/multiply_adds.hpp"
#include "partition/clusters.hpp"

namespace deputy::host {
namespace {

constexpr uint32_t kUnassigned = 0xffffffffu;

class Placer {
 public:
  Placer(const Graph& graph, std::span<Delegate* const> delegates, const PlacementOptions& options)
      : graph_(graph),
        delegates_(delegates),
        options_(options),
        successors_(NodeSuccessors(graph)),
        owner_(graph.nodes.size(), kUnassigned),
        unit_of_(graph.nodes.size()) {
    placement_.verdicts.assign(delegates.size(), std::vector<Verdict>(graph.nodes.size()));
    for (uint32_t node = 0; node < unit_of_.size(); ++node) unit_of_[node] = node;
  }

  Result<Placement> Run() {
    Status status = Assign();
    if (status.ok()) status = FormPartitions();
    if (status.ok()) status = CheckPlacement(graph_, placement_);
    if (!status.ok()) {
      ReleaseClaims(placement_, delegates_);
      for (const Claim& claim : claims_)
        if (!claim.adopted) delegates_[claim.delegate]->ReleaseClaim(claim.spec.claim);
      return status;
    }
    return std::move(placement_);
  }

 private:
  struct Claim {
    size_t delegate;
    PartitionSpec spec;
    bool adopted = false;  // in placement_, which then owns the handle
  };

  size_t cpu() const { return delegates_.size() - 1; }
  Verdict& verdict(size_t delegate, NodeId node) { return placement_.verdicts[delegate][node]; }

  Status Assign() {
    for (size_t d = 0; d < delegates_.size(); ++d) {
      GraphView view = View(d);
      if (delegates_[d]->proposes()) {
        DEPUTY_RETURN_IF_ERROR(AskForClaims(d, view));
      } else {
        Ask(d, view);
      }
      for (NodeId node = 0; node < graph_.nodes.size(); ++node)
        if (owner_[node] != kUnassigned && owner_[node] < d)
          verdict(d, node) = {Reason::kTakenByOther, delegates_[owner_[node]]->name()};
    }
    return HandOnSmallIslands();
  }

  // Gives the delegate what it supports of the nodes on offer. One that cannot answer is passed over, aloud.
  void Ask(size_t d, const GraphView& view) {
    std::vector<Verdict> answers(graph_.nodes.size());
    const Status status = delegates_[d]->QuerySupport(view, answers);
    if (!status.ok()) Log(LogLevel::kWarning, "{}: {}", delegates_[d]->name(), status.ToString());
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      if (!view.offered[node]) continue;
      verdict(d, node) = status.ok() ? std::move(answers[node]) : Verdict{Reason::kOther, status.message()};
      if (verdict(d, node).supported()) owner_[node] = static_cast<uint32_t>(d);
    }
  }

  // What delegate `d` is shown: nodes that nobody before it has taken and no rule keeps away.
  GraphView View(size_t d) {
    GraphView view{&graph_, {}, std::vector<uint8_t>(graph_.nodes.size(), 0)};
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      if (owner_[node] != kUnassigned) continue;
      Verdict denied = Denied(d, node);
      if (denied.supported()) {
        view.offered[node] = 1;
      } else {
        verdict(d, node) = std::move(denied);
      }
    }
    // A topological order of the quotient graph: claims of others stay in one piece, nodes on offer in long runs.
    const Successors units = Contract(successors_, unit_of_, unit_count());
    std::vector<uint8_t> preferred(units.size(), 0);
    std::vector<std::vector<NodeId>> members(units.size());
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      members[unit_of_[node]].push_back(node);
      if (view.offered[node]) preferred[unit_of_[node]] = 1;
    }
    for (const uint32_t unit : TopologicalOrder(units, preferred))
      view.order.insert(view.order.end(), members[unit].begin(), members[unit].end());
    return view;
  }

  // Reason::kSupported when the host has nothing against the node going to `d`.
  Verdict Denied(size_t d, NodeId id) const {
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
    if (refused != options_.refused.end()) return {Reason::kRefusedAtCompile, refused->second};
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
    if (!delegates_[d]->takes_dynamic_shapes()) {
      bool is_static = true;
      const auto look = [&](ValueId value) {
        is_static = is_static && (value == kNone || graph_.values[value].type.is_static());
      };
      for (const ValueId value : node.inputs) look(value);
      for (const ValueId value : node.outputs) look(value);
      if (!is_static) return {Reason::kShapeDynamic, "extents are known only at run time"};
    }
    return {Reason::kSupported, ""};
  }

  size_t unit_count() const { return graph_.nodes.size() + claims_.size(); }

  Status AskForClaims(size_t d, const GraphView& view) {
    Result<std::vector<PartitionSpec>> proposed = delegates_[d]->Propose(view);
    if (!proposed.ok()) {
      // A delegate that cannot build for this model is passed over, aloud.
      Log(LogLevel::kWarning, "{}: {}", delegates_[d]->name(), proposed.status().ToString());
      for (NodeId node = 0; node < graph_.nodes.size(); ++node)
        if (view.offered[node]) verdict(d, node) = {Reason::kOther, proposed.status().message()};
      return {};
    }
    const size_t first = claims_.size();
    for (PartitionSpec& spec : *proposed) {
      std::sort(spec.nodes.begin(), spec.nodes.end());
      const bool valid = !spec.nodes.empty() &&
                         std::adjacent_find(spec.nodes.begin(), spec.nodes.end()) == spec.nodes.end() &&
                         std::all_of(spec.nodes.begin(), spec.nodes.end(), [&](NodeId node) {
                           return node < graph_.nodes.size() && view.offered[node] && owner_[node] == kUnassigned;
                         });
      if (!valid) {
        Log(LogLevel::kWarning, "{}: a claim names a node twice, or one that was not offered; refused",
            delegates_[d]->name());
        delegates_[d]->ReleaseClaim(spec.claim);
        continue;
      }
      for (const NodeId node : spec.nodes) {
        owner_[node] = static_cast<uint32_t>(d);
        unit_of_[node] = static_cast<uint32_t>(graph_.nodes.size() + claims_.size());
        verdict(d, node) = {Reason::kSupported, ""};
      }
      claims_.push_back({d, std::move(spec)});
    }
    RefuseCycles(first);
    RefuseSmall(first);
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      if (view.offered[node] && verdict(d, node).reason == Reason::kNotAnswered)
        verdict(d, node) = {Reason::kNotAnswered, "not in any claim"};
    return {};
  }

  void Refuse(size_t index, Reason reason, const std::string& detail) {
    Claim& claim = claims_[index];
    for (const NodeId node : claim.spec.nodes) {
      owner_[node] = kUnassigned;
      unit_of_[node] = node;
      verdict(claim.delegate, node) = {reason, detail};
    }
    delegates_[claim.delegate]->ReleaseClaim(claim.spec.claim);
    claim.spec.nodes.clear();
    claim.adopted = true;  // nothing left to own
  }

  // Contracting all claims must leave an acyclic graph. Of those that stand in the way the last one proposed goes
  // first.
  void RefuseCycles(size_t first) {
    for (size_t index = claims_.size(); index > first;) {
      const Successors units = Contract(successors_, unit_of_, unit_count());
      if (!TopologicalOrder(units, std::vector<uint8_t>(units.size(), 0)).empty() || units.empty()) return;
      const std::vector<uint8_t> in_cycle = UnitsInCycles(units);
      do {
        --index;
      } while (index > first && !in_cycle[graph_.nodes.size() + index]);
      Refuse(index, Reason::kWouldMakeCycle, "the claim and its surroundings would wait for each other");
    }
  }

  // Units that remain when everything that can be ordered from either end is taken away.
  static std::vector<uint8_t> UnitsInCycles(const Successors& units) {
    std::vector<uint8_t> in_cycle(units.size(), 1);
    Successors predecessors(units.size());
    for (uint32_t unit = 0; unit < units.size(); ++unit)
      for (const uint32_t next : units[unit]) predecessors[next].push_back(unit);
    const auto peel = [&](const Successors& forward, const Successors& backward) {
      std::vector<uint32_t> waiting(units.size()), ready;
      for (uint32_t unit = 0; unit < units.size(); ++unit) {
        for (const uint32_t before : backward[unit]) waiting[unit] += in_cycle[before];
        if (in_cycle[unit] && waiting[unit] == 0) ready.push_back(unit);
      }
      while (!ready.empty()) {
        const uint32_t unit = ready.back();
        ready.pop_back();
        in_cycle[unit] = 0;
        for (const uint32_t next : forward[unit])
          if (in_cycle[next] && --waiting[next] == 0) ready.push_back(next);
      }
    };
    peel(units, predecessors);
    peel(predecessors, units);
    return in_cycle;
  }

  void RefuseSmall(size_t first) {
    for (size_t index = first; index < claims_.size(); ++index) {
      const Claim& claim = claims_[index];
      if (claim.spec.nodes.empty() || !TooSmall(claim.delegate, claim.spec.nodes)) continue;
      Refuse(index, Reason::kPartitionTooSmall, SmallDetail(claim.delegate, claim.spec.nodes));
    }
  }

  bool TooSmall(size_t d, std::span<const NodeId> nodes) const {
    const DelegateLimits& rules = options_.delegates[d];
    if (d == cpu()) return false;
    if (nodes.size() < rules.min_nodes) return true;
    if (rules.min_multiply_adds == 0) return false;
    uint64_t sum = 0;
    for (const NodeId node : nodes) sum += MultiplyAdds(graph_, graph_.nodes[node]);
    return sum < rules.min_multiply_adds;
  }

  std::string SmallDetail(size_t d, std::span<const NodeId> nodes) const {
    const DelegateLimits& rules = options_.delegates[d];
    if (nodes.size() < rules.min_nodes) return fmt::format("{} of min_nodes {}", nodes.size(), rules.min_nodes);
    return fmt::format("fewer multiply-adds than min_flops asks for");
  }

  // Clusters as things stand and gives every island that is too small to the next delegate that supports its nodes,
  // until all islands are large enough. Ends: each round takes at least one (delegate, node) pair away for good.
  Status HandOnSmallIslands() {
    for (;;) {
      DEPUTY_RETURN_IF_ERROR(RequireOwners());
      const std::vector<std::vector<NodeId>> islands = Islands();
      bool changed = false;
      for (const std::vector<NodeId>& island : islands) {
        const size_t d = owner_[island.front()];
        if (unit_of_[island.front()] >= graph_.nodes.size() || !TooSmall(d, island)) continue;
        changed = true;
        const std::string detail = SmallDetail(d, island);
        for (const NodeId node : island) {
          verdict(d, node) = {Reason::kPartitionTooSmall, detail};
          owner_[node] = kUnassigned;
        }
      }
      if (!changed) return {};
      OfferAgain();
    }
  }

  // Asks the later delegates about nodes that have become free; earlier answers were "taken by another".
  void OfferAgain() {
    for (size_t d = 0; d < delegates_.size(); ++d) {
      if (delegates_[d]->proposes()) continue;
      GraphView view{&graph_, {}, std::vector<uint8_t>(graph_.nodes.size(), 0)};
      bool any = false;
      for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
        view.order.push_back(node);
        if (owner_[node] != kUnassigned || verdict(d, node).reason != Reason::kTakenByOther) continue;
        Verdict denied = Denied(d, node);
        if (denied.supported()) {
          view.offered[node] = any = true;
        } else {
          verdict(d, node) = std::move(denied);
        }
      }
      if (any) Ask(d, view);
    }
  }

  Status RequireOwners() const {
    std::string list;
    size_t count = 0;
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      if (owner_[node] != kUnassigned &&
          (options_.cpu_fallback || owner_[node] != cpu() || !graph_.nodes[node].regions.empty()))
        continue;
      if (++count > 20) continue;
      list += "\n  " + Describe(graph_, node);
      for (size_t d = 0; d < delegates_.size(); ++d) {
        if (d == cpu() && !options_.cpu_fallback) continue;
        const Verdict& why = placement_.verdicts[d][node];
        list += fmt::format("; {}: {}{}{}", delegates_[d]->name(), NameOf(why.reason), why.detail.empty() ? "" : ", ",
                            why.detail);
      }
    }
    if (count == 0) return {};
    if (count > 20) list += fmt::format("\n  and {} more", count - 20);
    Status status =
        Error(StatusCode::kNotSupported, "{} of {} nodes can be placed nowhere:{}", count, graph_.nodes.size(), list);
    if (options_.cpu_fallback) return status;
    return std::move(status).Advise("fallback is 'none'; with 'fallback: cpu' the CPU may take them");
  }

  std::vector<std::vector<NodeId>> Islands() const {
    std::vector<uint32_t> color(unit_count(), 0);
    std::vector<uint8_t> alone(unit_count(), 1);  // units of refused claims have no nodes
    for (uint32_t unit = 0; unit < color.size(); ++unit) color[unit] = static_cast<uint32_t>(delegates_.size()) + unit;
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      if (unit_of_[node] >= graph_.nodes.size()) continue;  // a claim keeps its own color
      color[unit_of_[node]] = owner_[node];
      alone[unit_of_[node]] = delegates_[owner_[node]]->one_node_partitions();
    }
    const std::vector<uint32_t> cluster_of = Cluster(successors_, {unit_of_, unit_count(), color, alone});
    std::vector<std::vector<NodeId>> islands(unit_count());
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) islands[cluster_of[unit_of_[node]]].push_back(node);
    islands.erase(std::remove_if(islands.begin(), islands.end(), [](const auto& list) { return list.empty(); }),
                  islands.end());
    return islands;
  }

  Status FormPartitions() {
    const std::vector<std::vector<NodeId>> islands = Islands();
    std::vector<uint32_t> island_of(graph_.nodes.size());
    for (uint32_t i = 0; i < islands.size(); ++i)
      for (const NodeId node : islands[i]) island_of[node] = i;
    const Successors quotient = Contract(successors_, island_of, islands.size());
    const std::vector<uint32_t> order = TopologicalOrder(quotient, std::vector<uint8_t>(islands.size(), 0));
    if (order.size() != islands.size()) return Error(StatusCode::kInternal, "the partitions wait for each other");

    placement_.partition_of.resize(graph_.nodes.size());
    for (uint32_t position = 0; position < order.size(); ++position)
      for (const NodeId node : islands[order[position]]) placement_.partition_of[node] = position;
    const std::vector<std::vector<NodeId>> consumers = graph_.Consumers();
    std::vector<uint8_t> is_output(graph_.values.size(), 0);
    for (const ValueId id : graph_.outputs) is_output[id] = 1;
    std::vector<uint32_t> number(delegates_.size(), 0);
    for (uint32_t position = 0; position < order.size(); ++position) {
      const std::vector<NodeId>& nodes = islands[order[position]];
      PlacedPartition placed;
      placed.delegate = owner_[nodes.front()];
      PartitionSpec border;
      FindBorder(graph_, nodes, consumers, is_output, placement_.partition_of, position, border);
      if (unit_of_[nodes.front()] >= graph_.nodes.size()) {
        Claim& claim = claims_[unit_of_[nodes.front()] - graph_.nodes.size()];
        DEPUTY_RETURN_IF_ERROR(AdoptBorder(claim, border));
        placed.spec = std::move(claim.spec);
        claim.adopted = true;
      } else {
        placed.spec = std::move(border);
      }
      placed.spec.nodes = nodes;
      placed.spec.name = fmt::format("{}/{}", delegates_[placed.delegate]->name(), number[placed.delegate]++);
      placement_.partitions.push_back(std::move(placed));
    }
    return PlaceRegions();
  }

  // A claim may fix the order of its tensors; it may not add or leave out any.
  Status AdoptBorder(Claim& claim, const PartitionSpec& border) const {
    if (claim.spec.inputs.empty() && claim.spec.outputs.empty()) {
      claim.spec.inputs = border.inputs;
      claim.spec.outputs = border.outputs;
      return {};
    }
    const auto same = [](std::vector<ValueId> a, std::vector<ValueId> b) {
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      return a == b;
    };
    // Constants named as inputs are common in ported delegates; they are known at compile and are not bound.
    std::vector<ValueId> inputs;
    for (const ValueId id : claim.spec.inputs)
      if (id < graph_.values.size() && !graph_.values[id].is_constant()) inputs.push_back(id);
    if (!same(inputs, border.inputs) || !same(claim.spec.outputs, border.outputs))
      return Error(StatusCode::kPlugin, "{}: a claim names other inputs or outputs than its nodes have",
                   delegates_[claim.delegate]->name());
    claim.spec.inputs = std::move(inputs);
    return {};
  }

  Status PlaceRegions() {
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      for (const Region& region : graph_.nodes[node].regions) {
        Result<Placement> placed = Place(*region.body, delegates_, options_);
        if (!placed.ok())
          return std::move(placed).status().At(Describe(graph_, node) + ", region '" + region.name + "'");
        placement_.regions[node].push_back(std::move(placed).value());
      }
    return {};
  }

  const Graph& graph_;
  const std::span<Delegate* const> delegates_;
  const PlacementOptions& options_;
  const Successors successors_;
  std::vector<uint32_t> owner_;    // per node
  std::vector<uint32_t> unit_of_;  // per node: itself, or the number of nodes plus the index of its claim
  std::vector<Claim> claims_;
  Placement placement_;
};

}  // namespace

Result<Placement> Place(const Graph& graph, std::span<Delegate* const> delegates, const PlacementOptions& options) {
  if (delegates.empty() || options.delegates.size() != delegates.size())
    return Error(StatusCode::kInternal, "placement needs the CPU, and rules for every delegate");
  return Placer(graph, delegates, options).Run();
}

void ReleaseClaims(Placement& placement, std::span<Delegate* const> delegates) {
  for (PlacedPartition& partition : placement.partitions) {
    if (partition.spec.claim != nullptr) delegates[partition.delegate]->ReleaseClaim(partition.spec.claim);
    partition.spec.claim = nullptr;
  }
  for (auto& [node, regions] : placement.regions)
    for (Placement& region : regions) ReleaseClaims(region, delegates);
}

void FindBorder(const Graph& graph, std::span<const NodeId> nodes, const std::vector<std::vector<NodeId>>& consumers,
                std::span<const uint8_t> is_graph_output, std::span<const uint32_t> partition_of, uint32_t partition,
                PartitionSpec& spec) {
  std::set<ValueId> seen;
  std::set<ValueId> made;
  for (const NodeId node : nodes)
    for (const ValueId id : graph.nodes[node].outputs)
      if (id != kNone) made.insert(id);
  for (const NodeId node : nodes) {
    graph.nodes[node].ForEachRead([&](ValueId id) {
      if (!graph.values[id].is_constant() && made.count(id) == 0 && seen.insert(id).second) spec.inputs.push_back(id);
    });
    for (const ValueId id : graph.nodes[node].outputs) {
      if (id == kNone) continue;
      const bool read_outside = std::any_of(consumers[id].begin(), consumers[id].end(),
                                            [&](NodeId reader) { return partition_of[reader] != partition; });
      if (read_outside || is_graph_output[id]) spec.outputs.push_back(id);
    }
  }
}

}  // namespace deputy::host
