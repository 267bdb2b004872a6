// Nodes that stay together while a placement is made: claims, which become partitions as they are, and groups, which
// may grow.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"
#include "partition/clusters.hpp"

namespace deputy::host {

struct Bundle {
  size_t delegate = 0;
  PartitionSpec spec;  // of a group only the nodes
  bool is_claim = false;
  bool adopted = false;  // of a claim: its handle has gone to a placement or back to the delegate
};

// Which unit each node belongs to. A unit below the number of nodes is a node by itself, the others are bundles.
class Units {
 public:
  explicit Units(size_t nodes) : of_(nodes), nodes_(nodes) {
    for (uint32_t node = 0; node < nodes; ++node) of_[node] = node;
  }

  const std::vector<uint32_t>& of() const { return of_; }
  uint32_t of(NodeId node) const { return of_[node]; }
  size_t count() const { return nodes_ + bundles_.size(); }
  bool is_bundle(uint32_t unit) const { return unit >= nodes_; }

  size_t bundle_count() const { return bundles_.size(); }
  Bundle& bundle(size_t index) { return bundles_[index]; }
  const Bundle& bundle(size_t index) const { return bundles_[index]; }
  size_t bundle_of_unit(uint32_t unit) const { return unit - nodes_; }

  void Add(Bundle bundle) {
    for (const NodeId node : bundle.spec.nodes) of_[node] = static_cast<uint32_t>(count());
    bundles_.push_back(std::move(bundle));
  }
  // Its nodes are units of their own again.
  std::vector<NodeId> Dissolve(size_t index) {
    for (const NodeId node : bundles_[index].spec.nodes) of_[node] = node;
    return std::exchange(bundles_[index].spec.nodes, {});
  }

 private:
  std::vector<uint32_t> of_;
  std::vector<Bundle> bundles_;
  size_t nodes_;
};

}  // namespace deputy::host
