// Placement policies: which of the delegates that may own a node gets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

class Eligibility;

struct Ranking {
  class Reasons {
   public:
    virtual ~Reasons() = default;
    // Why `delegate`, which supports the node, does not own it. `owner` does.
    virtual Verdict WhyNot(size_t delegate, NodeId node, size_t owner) const = 0;
  };

  // All delegates, in the order in which each of them is asked for claims and groups and gets nodes. Empty: that of the
  // configuration.
  std::vector<size_t> order = {};
  // Per delegate, per node: of the delegates that support a node, one with the lowest rank gets it, the first of them
  // in `order`. Empty: all ranks are equal.
  std::vector<std::vector<uint32_t>> ranks = {};
  // Null: the node is taken by its owner, and no more is said. Delegates, graph and eligibility must outlive it.
  std::shared_ptr<const Reasons> reasons = {};
};

// [any-thread]
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  // Called once for every placement of a graph; bodies of regions are graphs of their own.
  virtual Ranking Rank(Eligibility& eligibility) const = 0;
};

// The first delegate in the order of the configuration that supports a node gets it.
class PriorityPolicy final : public PlacementPolicy {
 public:
  Ranking Rank(Eligibility&) const override { return {}; }
};

}  // namespace deputy::host
