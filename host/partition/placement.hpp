// The result of partitioning: the owner of each node with the verdicts of all delegates, and the rules for placement.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "partition/hosted_delegate.hpp"
#include "partition/policy.hpp"

namespace deputy::host {

// A rule over all delegates: nodes that match every selector given are placed only on `to`, or (with `to` empty) never
// on any of `avoid`.
struct NodeRule {
  std::vector<std::string> nodes;  // globs
  std::vector<std::string> ops, domains;
  std::string to;
  std::vector<std::string> avoid;
  std::string place = {};  // in the configuration, for reasons; empty: not known
};

struct PlacementOptions {
  std::vector<NodeRule> rules;
  std::shared_ptr<const PlacementPolicy> policy = std::make_shared<PriorityPolicy>();
  bool cpu_fallback = true;  // false: a node that only the CPU supports is an error
  // Nodes that a delegate must not have any more: graph (a region has numbers of its own), delegate, node; and the
  // reason.
  std::map<std::tuple<const Graph*, size_t, NodeId>, Verdict> refused;
};

struct PlacedPartition {
  size_t delegate = 0;
  PartitionSpec spec;
  std::shared_ptr<const Estimate> estimate;  // of the delegate; null: it was not requested
};

// Every node in exactly one partition. Partitions are in an order in which they can run.
struct Placement {
  std::vector<PlacedPartition> partitions;
  std::vector<uint32_t> partition_of;                // per node
  std::vector<std::vector<Verdict>> verdicts;        // per delegate, per node: reason for not owning it
  std::map<NodeId, std::vector<Placement>> regions;  // of nodes with regions, one placement per region

  size_t delegate_of(NodeId node) const { return partitions[partition_of[node]].delegate; }
};

}  // namespace deputy::host
