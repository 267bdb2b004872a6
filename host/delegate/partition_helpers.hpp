// Functions of the host for delegates that form partitions themselves. Declared here for the proxies of plugins;
// implemented by host/partition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

// [any-thread]
class PartitionHelpers {
 public:
  virtual ~PartitionHelpers() = default;

  struct Clusters {
    std::vector<uint32_t> cluster_of;  // per node; kNone for nodes that are in none
    uint32_t count = 0;
  };
  // `wanted` per node: 0 no, 1 yes, a larger number names a group that stays together. The groups of the view apply to
  // all nodes that are not wanted. A group that would make a cycle is in no cluster.
  virtual Clusters Cluster(const GraphView& view, std::span<const uint32_t> wanted) const = 0;
  // Operators that read a DequantizeLinear, each with those that serve it alone and the QuantizeLinear behind it. Nodes
  // that are not in view.order are left out.
  virtual std::vector<std::vector<NodeId>> QuantizedGroups(const GraphView& view) const = 0;
};

}  // namespace deputy::host
