// y = factor · x + sum for each channel: what BatchNormalization does at inference, and arithmetic with constants.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host {

struct Affine {
  std::vector<double> factor, sum;

  // The same, followed by `next`.
  void Then(const Affine& next);
};

// What the node does to each of `channels` along axis 1 of its operand `input`, of rank `rank`; nothing when it does
// anything else, or what it does is not constant.
std::optional<Affine> AffineOf(const Graph& graph, const Node& node, ValueId input, size_t channels, size_t rank);

}  // namespace deputy::host
