// Which node runs where, and why: the result of partitioning, and the rules that shape it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

// What the configuration says about the nodes that one delegate may have. Empty lists say nothing.
struct DelegateLimits {
  std::vector<std::string> only_ops, deny_ops;      // operator names
  std::vector<std::string> only_nodes, deny_nodes;  // globs over node names
  uint32_t min_nodes = 1;
  uint64_t min_multiply_adds = 0;
};

// A rule over all delegates: nodes that match every selector given go to `to` and nowhere else, or (with `to` empty)
// never to any of `avoid`.
struct NodeRule {
  std::vector<std::string> nodes;  // globs
  std::vector<std::string> ops, domains;
  std::string to;
  std::vector<std::string> avoid;
};

struct PlacementOptions {
  std::vector<DelegateLimits> delegates;  // one per delegate, in order
  std::vector<NodeRule> rules;
  bool cpu_fallback = true;  // false: a node that only the CPU takes is an error
  // What a delegate may not have any more: graph (a region has numbers of its own), delegate, node; and why.
  std::map<std::tuple<const Graph*, size_t, NodeId>, Verdict> refused;
};

struct PlacedPartition {
  size_t delegate = 0;
  PartitionSpec spec;
  std::optional<Estimate> estimate;  // what the delegate thinks of it, if it was asked
};

// Every node in exactly one partition. Partitions stand in an order in which they can run.
struct Placement {
  std::vector<PlacedPartition> partitions;
  std::vector<uint32_t> partition_of;                // per node
  std::vector<std::vector<Verdict>> verdicts;        // per delegate, per node: why it does not have the node
  std::map<NodeId, std::vector<Placement>> regions;  // of nodes with regions, one placement per region

  size_t delegate_of(NodeId node) const { return partitions[partition_of[node]].delegate; }
};

// Does `text` match a glob of '*' and '?' ?
bool MatchesGlob(std::string_view glob, std::string_view text);

}  // namespace deputy::host
