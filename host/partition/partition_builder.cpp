#include "partition/partition_builder.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "graph/graph.hpp"

namespace deputy::host {
namespace {

Clustering ClusteringOf(std::vector<uint32_t> cluster_of, uint32_t count) {
  CompressedLists clusters(count, [&](const auto& add) {
    for (NodeId node = 0; node < cluster_of.size(); ++node) add(cluster_of[node], node);
  });
  return {std::move(clusters), std::move(cluster_of)};
}

}  // namespace

Clustering Cut(const Clustering& clustering, std::span<const NodeId> later) {
  const uint32_t last = static_cast<uint32_t>(clustering.clusters.size());
  std::vector<uint32_t> cluster_of = clustering.cluster_of;
  for (const NodeId node : later) cluster_of[node] = last;
  return ClusteringOf(std::move(cluster_of), last + 1);
}

PartitionBuilder::PartitionBuilder(const Graph& graph, Delegates delegates, Assignment& assignment)
    : graph_(graph),
      delegates_(delegates),
      assignment_(assignment),
      consumers_(graph.Consumers()),
      producers_(graph.Producers()),
      is_output_(graph.values.size(), 0),
      listed_(graph.values.size(), 0) {
  for (const ValueId id : graph.outputs) is_output_[id] = 1;
}

Clustering PartitionBuilder::Clusters() const {
  const AtomicGroups& groups = assignment_.groups();
  std::vector<uint32_t> color(groups.count(), 0);
  std::vector<uint8_t> alone(groups.count(), 1);  // groups without nodes have no owner
  for (uint32_t group = 0; group < color.size(); ++group)
    color[group] = static_cast<uint32_t>(delegates_.size()) + group;
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
    const uint32_t group = groups.of(node);
    if (groups.is_atomic(group) && groups.at(groups.index_of(group)).is_claim) continue;  // its own color
    color[group] = static_cast<uint32_t>(assignment_.owner(node));
    alone[group] = delegates_[assignment_.owner(node)]->traits().one_node_partitions;
  }
  const std::vector<uint32_t> cluster_of_group =
      Cluster(assignment_.successors(), {groups.of(), groups.count(), color, alone});
  // Clusters without nodes are those of dissolved groups.
  std::vector<uint32_t> number(groups.count(), 0);
  for (NodeId node = 0; node < graph_.nodes.size(); ++node) number[cluster_of_group[groups.of(node)]] = 1;
  uint32_t count = 0;
  for (uint32_t& cluster : number) cluster = cluster == 0 ? 0 : count++;
  std::vector<uint32_t> cluster_of;
  cluster_of.reserve(graph_.nodes.size());
  for (NodeId node = 0; node < graph_.nodes.size(); ++node)
    cluster_of.push_back(number[cluster_of_group[groups.of(node)]]);
  return ClusteringOf(std::move(cluster_of), count);
}

Result<PartitionSpec> PartitionBuilder::SpecOf(const Clustering& clustering, uint32_t cluster) {
  PartitionSpec spec;
  const std::span<const NodeId> nodes = clustering.clusters[cluster];
  spec.nodes.assign(nodes.begin(), nodes.end());
  FindInputsAndOutputs(clustering, cluster, spec);
  const AtomicGroup* claim = assignment_.ClaimOf(spec.nodes);
  if (claim != nullptr && !Adopt(claim->spec, spec))
    return Error(StatusCode::kPlugin, "a claim names other inputs or outputs than its nodes have");
  if (delegates_[assignment_.owner(spec.nodes.front())]->traits().one_node_partitions) AddRequiredOutputs(spec);
  return spec;
}

Result<Placement> PartitionBuilder::Build(const Clustering& clustering) {
  const CompressedLists& clusters = clustering.clusters;
  const Successors quotient = Contract(assignment_.successors(), clustering.cluster_of, clusters.size());
  const std::vector<uint32_t> order = TopologicalOrder(quotient, std::vector<uint8_t>(clusters.size(), 0));
  if (order.size() != clusters.size()) return Error(StatusCode::kInternal, "the partitions form a cycle");

  Placement placement;
  placement.partition_of.resize(graph_.nodes.size());
  placement.partitions.reserve(order.size());
  std::vector<uint32_t> number(delegates_.size(), 0);
  for (uint32_t position = 0; position < order.size(); ++position) {
    const std::span<const NodeId> nodes = clusters[order[position]];
    for (const NodeId node : nodes) placement.partition_of[node] = position;
    PlacedPartition placed;
    placed.delegate = assignment_.owner(nodes.front());
    DEPUTY_ASSIGN_OR_RETURN(placed.spec, SpecOf(clustering, order[position]));
    if (AtomicGroup* claim = assignment_.ClaimOf(nodes)) claim->adopted = true;
    placed.spec.name = delegates_[placed.delegate]->name() + "/" + std::to_string(number[placed.delegate]++);
    placement.partitions.push_back(std::move(placed));
  }
  return placement;
}

// Inputs: values that are not constant and read from outside. Outputs: values read outside or returned by the graph.
// Both in order of first appearance.
void PartitionBuilder::FindInputsAndOutputs(const Clustering& clustering, uint32_t cluster, PartitionSpec& spec) {
  ++lists_;
  for (const NodeId node : spec.nodes) {
    graph_.nodes[node].ForEachRead([&](ValueId id) {
      const bool inside = producers_[id] != kNone && clustering.cluster_of[producers_[id]] == cluster;
      if (inside || graph_.values[id].is_constant() || listed_[id] == lists_) return;
      listed_[id] = lists_;
      spec.inputs.push_back(id);
    });
    for (const ValueId id : graph_.nodes[node].outputs) {
      if (id == kNone) continue;
      const bool read_outside = std::any_of(consumers_[id].begin(), consumers_[id].end(),
                                            [&](NodeId reader) { return clustering.cluster_of[reader] != cluster; });
      if (read_outside || is_output_[id]) spec.outputs.push_back(id);
    }
  }
}

// A claim may fix the order of its tensors; it may not add or leave out any. False: it does so.
bool PartitionBuilder::Adopt(const PartitionSpec& claim, PartitionSpec& spec) const {
  spec.claim = claim.claim;
  if (claim.inputs.empty() && claim.outputs.empty()) return true;
  const auto same = [](std::vector<ValueId> a, std::vector<ValueId> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  };
  // Constants named as inputs are common in ported delegates; they are known at compile and are not bound.
  std::vector<ValueId> inputs;
  for (const ValueId id : claim.inputs)
    if (id < graph_.values.size() && !graph_.values[id].is_constant()) inputs.push_back(id);
  if (!same(inputs, spec.inputs) || !same(claim.outputs, spec.outputs)) return false;
  spec.inputs = std::move(inputs);
  spec.outputs = claim.outputs;
  return true;
}

// A kernel writes all outputs that its operator requires, also those that are never read.
void PartitionBuilder::AddRequiredOutputs(PartitionSpec& spec) const {
  const Node& node = graph_.nodes[spec.nodes.front()];
  const OperatorInfo* info = InfoOf(node.kind());
  if (info == nullptr || !node.regions.empty()) return;
  for (size_t i = 0; i < std::min<size_t>(info->min_outputs, node.outputs.size()); ++i)
    if (node.outputs[i] != kNone &&
        std::find(spec.outputs.begin(), spec.outputs.end(), node.outputs[i]) == spec.outputs.end())
      spec.outputs.push_back(node.outputs[i]);
}

}  // namespace deputy::host
