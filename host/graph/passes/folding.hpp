// Folding during inference. Constants: nodes with constant inputs are computed once instead of in every run, as long as
// this does not make the model much larger. Shapes: a list of known extents becomes a constant, however it was
// computed, also while other extents of the same tensor are not known.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/inference.hpp"

namespace deputy::host {

// Bytes that folding may still add to a model, and time that it may still take, regions included.
struct FoldBudget {
  explicit FoldBudget(size_t bytes) : per_fold(bytes), left(bytes > SIZE_MAX / 16 ? SIZE_MAX : bytes * 16) {}

  size_t per_fold;
  size_t left;
  uint64_t left_ns = 20'000'000'000;  // of the evaluator
};

// Computes a node all of whose inputs are known. Empty where it stays a node: its outputs, working memory or time are
// too large, or the evaluator has no kernel for it. `freed` is the size of the constants removed with its inputs, in
// bytes. A node that cannot be computed from these values is an error: the model is wrong.
Result<std::optional<std::vector<Tensor>>> FoldNode(const Graph& graph, const Node& node,
                                                    std::span<const Tensor> inputs, const Evaluator& evaluator,
                                                    size_t freed, FoldBudget& budget);

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
