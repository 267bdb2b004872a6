// Shape inference: the types of a node's outputs, from its inputs' types and from the inputs whose values are known.
// The same functions are used at load (types, some constants) and in a run (every input is known).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "graph/inference/partial.hpp"

namespace deputy::host {

// At load the known values are the model's constants; in a run they are those of all inputs, which the kernels check.
enum class InferenceTime : uint8_t { kLoad, kRun };

// The view that an Infer<Operator> function has of one node.
class InferenceContext {
 public:
  // One entry per input of the node; `constants[i]` is empty where the value is not known. `partial`, if not empty,
  // holds the known elements of each input, null for none.
  InferenceContext(const Node& node, std::span<const ValueType> inputs, std::span<const Tensor> constants,
                   std::span<const PartialInts* const> partial = {}, InferenceTime time = InferenceTime::kLoad)
      : node_(node),
        inputs_(inputs),
        constants_(constants),
        partial_(partial),
        time_(time),
        outputs_(node.outputs.size()) {}

  const Node& node() const { return node_; }
  const Primitive& primitive() const { return node_.primitive; }
  InferenceTime time() const { return time_; }

  size_t input_count() const { return inputs_.size(); }
  // False for an optional input that is omitted, by position or by an empty name.
  bool has_input(size_t i) const { return i < inputs_.size() && node_.inputs[i] != kNone; }
  const ValueType& input(size_t i) const { return inputs_[i]; }
  // The input's elements when they are known, otherwise null.
  const Tensor* constant(size_t i) const { return has_input(i) && !constants_[i].empty() ? &constants_[i] : nullptr; }
  // The elements of a known int64 or int32 input.
  std::optional<std::vector<int64_t>> constant_ints(size_t i) const;
  // The known elements of a short int64, int32 or bool input of rank 0 or 1.
  std::optional<PartialInts> partial_ints(size_t i) const;

  size_t output_count() const { return outputs_.size(); }
  // Setting an output that the node omits, or does not have, is allowed and does nothing.
  void SetOutput(size_t i, DType dtype, std::vector<int64_t> dims);
  void SetOutputUnranked(size_t i, DType dtype);
  // Set the first output, as the last step of most inference functions.
  Status Output(ValueType type);
  Status Output(DType dtype, std::vector<int64_t> dims) { return Output(ValueType{dtype, true, std::move(dims)}); }
  Status OutputUnranked(DType dtype) { return Output(ValueType{dtype, false, {}}); }
  void SetOutput(size_t i, ValueType type);
  const std::vector<ValueType>& outputs() const { return outputs_; }

  // Extents along `axis`, counted from the end when negative; fails when out of range.
  Result<size_t> NormalizeAxis(int64_t axis, size_t rank) const;

 private:
  const Node& node_;
  std::span<const ValueType> inputs_;
  std::span<const Tensor> constants_;
  std::span<const PartialInts* const> partial_;
  InferenceTime time_;
  std::vector<ValueType> outputs_;
};

using InferenceFunction = Status (*)(InferenceContext&);

// Infers one node; kOther leaves its outputs without type. Errors contain only the cause; callers add the place.
Status InferNode(InferenceContext& context);

// Numpy broadcasting of symbolic shapes; fails when two known extents clash. [any-thread]
Result<std::vector<int64_t>> BroadcastDims(std::span<const int64_t> a, std::span<const int64_t> b);

// Computes a node whose inputs are all known; used to fold constants. Returns one tensor per output.
using Evaluator = std::function<Result<std::vector<Tensor>>(const Node&, std::span<const Tensor> inputs)>;

// Types of a node of an operator that Deputy does not know (OpKind::kOther), from the plugin that defines it;
// kNotSupported without one, and the outputs then keep their declared types.
using ForeignInference = std::function<Status(InferenceContext&)>;

inline constexpr size_t kDefaultFoldBudget = 16'000'000;

struct InferenceOptions {
  Evaluator evaluator;  // none: no folding, types only
  // Bytes that one fold may add to the graph; all together may add sixteen times as much. Constants that lose their
  // last reader count against it, so that a transposed weight costs nothing.
  size_t fold_budget_bytes = kDefaultFoldBudget;
  bool fold_constants = true;
  bool fold_shapes = true;
  bool drop_unused = true;
  ForeignInference foreign = {};  // none: unknown operators stay as declared
};

// Walks the graph in order: types every value, folds known values into constants (also shape arithmetic of which only
// the extents are known), picks the branch of an If whose condition is known, and drops unused nodes. Types given for
// graph inputs hold. Errors name the node. The graph is changed in place and stays verified.
Status InferGraph(Graph& graph, const InferenceOptions& options);

}  // namespace deputy::host
