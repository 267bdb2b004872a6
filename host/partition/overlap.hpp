// Cuts partitions where a part of them could run beside work of other delegates that the whole would have to wait for,
// or would keep waiting.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partition/assignment.hpp"

namespace deputy::host {

// To start a step on another thread and to wait for its end takes as long as about so many operations of a CPU, 20 us.
inline constexpr uint64_t kLeastOverlap = 100'000;

// Multiply-adds and elements of results of a node, as far as they are known, and what it takes to begin it.
uint64_t OperationsOf(const Graph& graph, const Node& node);

// Of an assignment in which every node has an owner. It and the other arguments must outlive this.
class OverlapCuts {
 public:
  // Time and memory are quadratic in the number of groups. With more groups than these nothing is cut.
  static constexpr size_t kMostGroups = 4096;

  OverlapCuts(const Graph& graph, Delegates delegates, const Assignment& assignment);

  // The nodes of a cluster that should be a cluster after that of its other nodes: those that wait for much work of
  // other delegates where the others do not, or those that no other delegate waits for where one waits for the others.
  // Only work counts that can be done at the same time, which needs a delegate that overlaps on either side, and at
  // least kLeastOverlap on both; reading and writing the values between the parts is subtracted. Empty: no cut pays.
  // Atomic groups stay whole, and nodes that the result depends on stay before it.
  // The work for all clusters together is bounded: what is left when it is used up stays whole.
  std::vector<NodeId> LaterPart(std::span<const NodeId> cluster);

 private:
  uint64_t Between(std::span<const NodeId> cluster, const std::vector<uint8_t>& is_later) const;

  const Graph& graph_;
  const Assignment& assignment_;
  std::vector<NodeId> producers_;
  // Per group: its work, and the work of other delegates before and after it; empty where nothing overlaps.
  std::vector<uint64_t> work_, before_, after_;
  uint64_t budget_ = 4'000'000;  // nodes that are looked at to judge cuts
};

}  // namespace deputy::host
