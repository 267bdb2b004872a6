// y = factor · x + sum for each channel: BatchNormalization at inference, and arithmetic with constants.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host {

struct Affine {
  std::vector<double> factor, sum;

  // This function followed by `next`.
  void Then(const Affine& next);
};

// The function that the node applies to each of `channels` along axis 1 of its operand `input`, of rank `rank`; empty
// for any other function, or one that is not constant.
std::optional<Affine> AffineOf(const Graph& graph, const Node& node, ValueId input, size_t channels, size_t rank);

}  // namespace deputy::host
