// Shape arithmetic: a list of extents that is known turns into a constant, however it was computed, also while other
// extents of the same tensor are not known.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/inference.hpp"

namespace deputy::host {

// What is known of the elements of a graph's integer values, filled in while a walk infers node after node.
class ShapeTracker {
 public:
  // One entry per input of the node, null for nothing known: for its InferenceContext. Valid until the next call.
  std::span<const PartialInts* const> InputsOf(const Node& node);

  // Notes what is known of the first output, now that the types of the node are. The constant, when that is all of it.
  std::optional<Tensor> Follow(const Node& node, const InferenceContext& context);

 private:
  std::unordered_map<ValueId, PartialInts> known_;
  std::vector<const PartialInts*> inputs_;
};

}  // namespace deputy::host
