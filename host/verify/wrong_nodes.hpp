// The search for the nodes of a partition that a delegate computes wrongly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.hpp"

namespace deputy::host {

// Whether the delegate's results differ from the reference when it runs only these nodes, fed with the reference's
// values. Positions are ascending.
using Differs = FunctionRef<bool(std::span<const uint32_t>)>;

struct WrongNodes {
  // Each a node, or a smallest group of nodes, that differs by itself. Empty: the difference could not be repeated, or
  // more than kMostGroups are wrong.
  std::vector<std::vector<uint32_t>> groups;

  static constexpr size_t kMostGroups = 4;
};

// Nodes are positions from 0 to `count` in an order in which they can run. By bisection over prefixes to the node that
// completes a difference, then, where that node alone is right, over the beginning of the group, then by leaving out
// single nodes. Logarithmic in `count` for each group, and linear in the size of the group.
WrongNodes FindWrongNodes(size_t count, Differs differs);

}  // namespace deputy::host
