#include "partition/placer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "partition/assignment.hpp"

namespace deputy::host {
namespace {

class Placer {
 public:
  Placer(const Graph& graph, std::span<Delegate* const> delegates, const PlacementOptions& options,
         SupportMatrix& support)
      : graph_(graph),
        delegates_(delegates),
        options_(options),
        support_(support),
        assignment_(graph, delegates, options, support),
        consumers_(graph.Consumers()),
        is_output_(graph.values.size(), 0) {
    for (const ValueId id : graph.outputs) is_output_[id] = 1;
  }

  Result<Placement> Run() {
    assignment_.AssignAll();
    Status status = RejectUntilStable();
    if (status.ok()) status = FormPartitions();
    if (status.ok()) status = CheckPlacement(graph_, placement_);
    if (!status.ok()) {
      ReleaseClaims(placement_, delegates_);
      return status;
    }
    return std::move(placement_);
  }

 private:
  using Clusters = std::vector<std::vector<NodeId>>;

  // Rejects nodes of wrong claims, of partitions that are too small and, by the estimate of their delegate, of
  // partitions that others run better, until nothing changes. Terminates: each iteration removes at least one
  // (delegate, node) pair for good.
  Status RejectUntilStable() {
    for (;;) {
      DEPUTY_RETURN_IF_ERROR(assignment_.RequireOwners());
      const Clusters clusters = assignment_.Clusters();
      if (!RejectWrongClaims(clusters) && !RejectSmall(clusters) && !RejectByEstimate(clusters)) return {};
      assignment_.AssignFree();
    }
  }

  bool RejectWrongClaims(const Clusters& clusters) {
    bool changed = false;
    const std::vector<uint32_t> cluster_of = ClusterOf(clusters);
    for (uint32_t i = 0; i < clusters.size(); ++i) {
      const AtomicGroup* claim = assignment_.ClaimOf(clusters[i]);
      if (claim == nullptr) continue;
      PartitionSpec spec = SubgraphOf(clusters[i], cluster_of, i);
      if (AdoptClaim(*claim, spec)) continue;
      const size_t d = assignment_.owner(clusters[i].front());
      const char* wrong = "a claim names other inputs or outputs than its nodes have";
      Log(LogLevel::kWarning, "{}: {}; refused", delegates_[d]->name(), wrong);
      assignment_.Reject(d, clusters[i], {Reason::kOther, wrong});
      changed = true;
    }
    return changed;
  }

  bool RejectSmall(const Clusters& clusters) {
    bool changed = false;
    for (const std::vector<NodeId>& cluster : clusters) {
      const size_t d = assignment_.owner(cluster.front());
      if (assignment_.ClaimOf(cluster) != nullptr) continue;  // checked when it was proposed
      std::string small = assignment_.TooSmall(d, cluster);
      if (small.empty()) continue;
      assignment_.Reject(d, cluster, {Reason::kPartitionTooSmall, std::move(small)});
      changed = true;
    }
    return changed;
  }

  bool RejectByEstimate(const Clusters& clusters) {
    bool changed = false;
    const std::vector<uint32_t> cluster_of = ClusterOf(clusters);
    for (uint32_t i = 0; i < clusters.size(); ++i) {
      const size_t d = assignment_.owner(clusters[i].front());
      if (!delegates_[d]->estimates()) continue;
      const Estimate estimate = EstimateOf(d, clusters[i], cluster_of, i);
      if (estimate.feasible && estimate.give_back.empty()) continue;
      const bool give_back = estimate.feasible && estimate_rounds_ < kMostEstimateRounds;
      Verdict why{Reason::kInfeasible, estimate.reason};
      if (estimate.feasible && !give_back) why.detail = fmt::format("it gave back nodes {} times", kMostEstimateRounds);
      assignment_.Reject(d, give_back ? estimate.give_back : clusters[i], why);
      changed = true;
    }
    estimate_rounds_ += changed;
    return changed;
  }

  // Each partition is estimated once, however often the others change. If its estimate fails, it is kept as it is.
  Estimate EstimateOf(size_t d, const std::vector<NodeId>& cluster, const std::vector<uint32_t>& cluster_of,
                      uint32_t index) {
    const auto [found, is_new] = estimates_.try_emplace({d, cluster});
    if (!is_new) return found->second;
    PartitionSpec spec = SpecOf(cluster, cluster_of, index);
    spec.name = delegates_[d]->name();
    GraphView view{&graph_, {}, std::vector<uint8_t>(graph_.nodes.size(), 0)};
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) view.order.push_back(node);
    Result<Estimate> estimate = delegates_[d]->EstimatePartition(view, spec);
    if (estimate.ok()) {
      found->second = std::move(estimate).value();
    } else {
      Log(LogLevel::kWarning, "{}: {}", delegates_[d]->name(), estimate.status().ToString());
    }
    return found->second;
  }

  std::vector<uint32_t> ClusterOf(const Clusters& clusters) const {
    std::vector<uint32_t> cluster_of(graph_.nodes.size());
    for (uint32_t i = 0; i < clusters.size(); ++i)
      for (const NodeId node : clusters[i]) cluster_of[node] = i;
    return cluster_of;
  }

  PartitionSpec SubgraphOf(const std::vector<NodeId>& nodes, const std::vector<uint32_t>& partition_of,
                           uint32_t index) const {
    PartitionSpec spec;
    FindInputsAndOutputs(graph_, nodes, consumers_, is_output_, partition_of, index, spec);
    spec.nodes = nodes;
    return spec;
  }

  PartitionSpec SpecOf(const std::vector<NodeId>& nodes, const std::vector<uint32_t>& partition_of, uint32_t index) {
    PartitionSpec spec = SubgraphOf(nodes, partition_of, index);
    if (const AtomicGroup* claim = assignment_.ClaimOf(nodes)) AdoptClaim(*claim, spec);
    if (delegates_[assignment_.owner(nodes.front())]->one_node_partitions()) AddRequiredOutputs(spec);
    return spec;
  }

  // A kernel writes all outputs that its operator requires, also those that are never read.
  void AddRequiredOutputs(PartitionSpec& spec) const {
    const Node& node = graph_.nodes[spec.nodes.front()];
    const OperatorInfo* info = InfoOf(node.kind());
    if (info == nullptr || !node.regions.empty()) return;
    for (size_t i = 0; i < std::min<size_t>(info->min_outputs, node.outputs.size()); ++i)
      if (node.outputs[i] != kNone &&
          std::find(spec.outputs.begin(), spec.outputs.end(), node.outputs[i]) == spec.outputs.end())
        spec.outputs.push_back(node.outputs[i]);
  }

  Status FormPartitions() {
    const Clusters clusters = assignment_.Clusters();
    const Successors quotient = Contract(assignment_.successors(), ClusterOf(clusters), clusters.size());
    const std::vector<uint32_t> order = TopologicalOrder(quotient, std::vector<uint8_t>(clusters.size(), 0));
    if (order.size() != clusters.size()) return Error(StatusCode::kInternal, "the partitions form a cycle");

    placement_.partition_of.resize(graph_.nodes.size());
    for (uint32_t position = 0; position < order.size(); ++position)
      for (const NodeId node : clusters[order[position]]) placement_.partition_of[node] = position;
    std::vector<uint32_t> number(delegates_.size(), 0);
    for (uint32_t position = 0; position < order.size(); ++position) {
      const std::vector<NodeId>& nodes = clusters[order[position]];
      PlacedPartition placed;
      placed.delegate = assignment_.owner(nodes.front());
      placed.spec = SpecOf(nodes, placement_.partition_of, position);
      if (AtomicGroup* claim = assignment_.ClaimOf(nodes)) claim->adopted = true;
      placed.spec.name = fmt::format("{}/{}", delegates_[placed.delegate]->name(), number[placed.delegate]++);
      const auto estimate = estimates_.find({placed.delegate, nodes});
      if (estimate != estimates_.end()) placed.estimate = estimate->second;
      placement_.partitions.push_back(std::move(placed));
    }
    placement_.verdicts = assignment_.TakeVerdicts();
    return PlaceRegions();
  }

  // A claim may fix the order of its tensors; it may not add or leave out any. False: it does so.
  bool AdoptClaim(const AtomicGroup& claim, PartitionSpec& spec) const {
    spec.claim = claim.spec.claim;
    if (claim.spec.inputs.empty() && claim.spec.outputs.empty()) return true;
    const auto same = [](std::vector<ValueId> a, std::vector<ValueId> b) {
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      return a == b;
    };
    // Constants named as inputs are common in ported delegates; they are known at compile and are not bound.
    std::vector<ValueId> inputs;
    for (const ValueId id : claim.spec.inputs)
      if (id < graph_.values.size() && !graph_.values[id].is_constant()) inputs.push_back(id);
    if (!same(inputs, spec.inputs) || !same(claim.spec.outputs, spec.outputs)) return false;
    spec.inputs = std::move(inputs);
    spec.outputs = claim.spec.outputs;
    return true;
  }

  Status PlaceRegions() {
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      for (const Region& region : graph_.nodes[node].regions) {
        Result<Placement> placed = Place(*region.body, delegates_, options_, support_);
        if (!placed.ok())
          return std::move(placed).status().At(Describe(graph_, node) + ", region '" + region.name + "'");
        placement_.regions[node].push_back(std::move(placed).value());
      }
    return {};
  }

  // Delegates that keep giving nodes back would make the time quadratic.
  static constexpr int kMostEstimateRounds = 16;

  const Graph& graph_;
  const std::span<Delegate* const> delegates_;
  const PlacementOptions& options_;
  SupportMatrix& support_;
  Assignment assignment_;
  const std::vector<std::vector<NodeId>> consumers_;
  std::vector<uint8_t> is_output_;  // per value
  std::map<std::pair<size_t, std::vector<NodeId>>, Estimate> estimates_;
  int estimate_rounds_ = 0;
  Placement placement_;
};

}  // namespace

Result<Placement> Place(const Graph& graph, std::span<Delegate* const> delegates, const PlacementOptions& options,
                        SupportMatrix& support) {
  if (delegates.empty() || options.delegates.size() != delegates.size())
    return Error(StatusCode::kInternal, "placement needs the CPU, and rules for every delegate");
  return Placer(graph, delegates, options, support).Run();
}

void ReleaseClaims(Placement& placement, std::span<Delegate* const> delegates) {
  for (PlacedPartition& partition : placement.partitions) {
    if (partition.spec.claim != nullptr) delegates[partition.delegate]->ReleaseClaim(partition.spec.claim);
    partition.spec.claim = nullptr;
  }
  for (auto& [node, regions] : placement.regions)
    for (Placement& region : regions) ReleaseClaims(region, delegates);
}

void FindInputsAndOutputs(const Graph& graph, std::span<const NodeId> nodes,
                          const std::vector<std::vector<NodeId>>& consumers, std::span<const uint8_t> is_graph_output,
                          std::span<const uint32_t> partition_of, uint32_t partition, PartitionSpec& spec) {
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
