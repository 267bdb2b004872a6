// Shape arithmetic: a list of known extents becomes a constant, however it was computed, also while other extents of
// the same tensor are not known.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/inference.hpp"

namespace deputy::host {

// The known elements of a graph's integer values, recorded while a walk infers node after node.
class ShapeTracker {
 public:
  // One entry per input of the node, null for unknown: for its InferenceContext. Valid until the next call.
  std::span<const PartialInts* const> InputsOf(const Node& node);

  // Records the known elements of the first output, after the node's types are known. The constant, when all are known.
  std::optional<Tensor> Follow(const Node& node, const InferenceContext& context);

 private:
  std::unordered_map<ValueId, PartialInts> known_;
  std::vector<const PartialInts*> inputs_;
};

}  // namespace deputy::host
