// Nodes that stay together while a placement is made: claims, which become partitions as they are, and groups, which
// may grow.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"
#include "partition/clusters.hpp"

namespace deputy::host {

struct AtomicGroup {
  size_t delegate = 0;
  PartitionSpec spec;  // only the nodes, for a group
  bool is_claim = false;
  bool adopted = false;  // claim: its handle was given to a placement or back to the delegate
};

// The group of each node. A group number below the number of nodes is a node by itself, the others are atomic groups.
class AtomicGroups {
 public:
  explicit AtomicGroups(size_t nodes) : of_(nodes), nodes_(nodes) {
    for (uint32_t node = 0; node < nodes; ++node) of_[node] = node;
  }

  const std::vector<uint32_t>& of() const { return of_; }
  uint32_t of(NodeId node) const { return of_[node]; }
  size_t count() const { return nodes_ + atomic_.size(); }
  bool is_atomic(uint32_t group) const { return group >= nodes_; }

  size_t atomic_count() const { return atomic_.size(); }
  AtomicGroup& at(size_t index) { return atomic_[index]; }
  const AtomicGroup& at(size_t index) const { return atomic_[index]; }
  size_t index_of(uint32_t group) const { return group - nodes_; }

  void Add(AtomicGroup group) {
    for (const NodeId node : group.spec.nodes) of_[node] = static_cast<uint32_t>(count());
    atomic_.push_back(std::move(group));
  }
  // Its nodes become groups of one node again.
  std::vector<NodeId> Dissolve(size_t index) {
    for (const NodeId node : atomic_[index].spec.nodes) of_[node] = node;
    return std::exchange(atomic_[index].spec.nodes, {});
  }

 private:
  std::vector<uint32_t> of_;
  std::vector<AtomicGroup> atomic_;
  size_t nodes_;
};

}  // namespace deputy::host
