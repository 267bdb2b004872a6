// Predicted times of nodes and of transfers, for a policy that compares them.
#pragma once

#include <cstddef>

#include "graph/graph.hpp"

namespace deputy::host {

// Of one graph and its delegates. Times are in nanoseconds, finite and not negative.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // Of a node on a delegate that supports it.
  virtual double NodeNs(size_t delegate, NodeId node) const = 0;
  // Of moving a value from the delegate that makes it to another one that reads it, however many of its nodes do.
  virtual double TransferNs(size_t from, size_t to, ValueId value) const = 0;
};

}  // namespace deputy::host
