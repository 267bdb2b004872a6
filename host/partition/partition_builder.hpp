// Forms partitions of an assignment: clusters of nodes, their exact inputs and outputs, and the claims that they adopt.
#pragma once

#include <span>
#include <vector>

#include "partition/assignment.hpp"
#include "partition/placement.hpp"

namespace deputy::host {

struct Clustering {
  CompressedLists clusters;          // nodes ascending
  std::vector<uint32_t> cluster_of;  // per node
};

// With these nodes of one of its clusters in a further one, the last.
Clustering Cut(const Clustering& clustering, std::span<const NodeId> later);

class PartitionBuilder {
 public:
  // All arguments must outlive this.
  PartitionBuilder(const Graph& graph, Delegates delegates, Assignment& assignment);

  // Of the current assignment, in which every node has an owner.
  Clustering Clusters() const;
  // A cluster as a partition without a name. Fails for a claim that names other inputs or outputs than its nodes have.
  Result<PartitionSpec> SpecOf(const Clustering& clustering, uint32_t cluster);
  // All clusters as partitions, which adopt their claims, in an order in which they can run. Without verdicts and
  // regions.
  Result<Placement> Build(const Clustering& clustering);

 private:
  void FindInputsAndOutputs(const Clustering& clustering, uint32_t cluster, PartitionSpec& spec);
  bool Adopt(const PartitionSpec& claim, PartitionSpec& spec) const;
  void AddRequiredOutputs(PartitionSpec& spec) const;

  const Graph& graph_;
  const Delegates delegates_;
  Assignment& assignment_;
  const CompressedLists consumers_;      // per value
  const std::vector<NodeId> producers_;  // per value
  std::vector<uint8_t> is_output_;       // per value: of the graph
  std::vector<uint64_t> listed_;         // per value: the last list of inputs that it was added to
  uint64_t lists_ = 0;
};

}  // namespace deputy::host
