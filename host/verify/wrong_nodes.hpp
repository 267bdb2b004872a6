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
  // there are too many.
  std::vector<std::vector<uint32_t>> groups;
  bool too_many = false;  // more than kMostGroups had to be searched for

  static constexpr size_t kMostGroups = 8;
};

// Nodes are positions in `operators`, which has a number for each node, equal for nodes of one operator; their order is
// one in which they can run. By bisection over prefixes to the node that completes a difference, then, where that node
// alone is right, over the beginning of the group, then by leaving out single nodes. Logarithmic in the number of nodes
// for each group, and linear in the size of the group. Where a single node is wrong, the others of its operator are
// tested one by one, since what is wrong in one is often wrong in many.
WrongNodes FindWrongNodes(std::span<const uint32_t> operators, Differs differs);

}  // namespace deputy::host
