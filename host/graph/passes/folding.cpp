#include "graph/passes/folding.hpp"

#include <algorithm>
#include <utility>

#include "base/cancellation.hpp"
#include "base/checked.hpp"
#include "graph/operator.hpp"

namespace deputy::host {
namespace {

// Bytes of the outputs as far as their types tell; more than any budget when they cannot be counted.
size_t OutputBytes(const Graph& graph, const Node& node) {
  size_t bytes = 0;
  for (const ValueId id : node.outputs) {
    if (id == kNone) continue;
    const ValueType& type = graph.values[id].type;
    if (!type.is_static()) continue;  // depends on the values: bounded by the inputs
    const std::optional<int64_t> count = CheckedElementCount(type.dims);
    if (!count) return SIZE_MAX;
    const std::optional<size_t> sum =
        CheckedAdd(bytes, static_cast<size_t>(*count) * std::max<size_t>(1, SizeOf(type.dtype)));
    if (!sum) return SIZE_MAX;
    bytes = *sum;
  }
  return bytes;
}

bool Fits(size_t bytes, size_t freed, const FoldBudget& budget) {
  const size_t added = bytes > freed ? bytes - freed : 0;
  return added <= budget.per_fold && added <= budget.left;
}

// The input's own bytes under another shape, for operators that only change the shape.
std::optional<Tensor> Viewed(const Graph& graph, const Node& node, std::span<const Tensor> inputs) {
  switch (node.kind()) {
    case OpKind::kFlatten:
    case OpKind::kIdentity:
    case OpKind::kReshape:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze: break;
    default: return std::nullopt;
  }
  const Tensor& source = inputs[0];
  const ValueType& type = graph.values[node.outputs[0]].type;
  if (!type.is_static()) return std::nullopt;
  Result<Tensor> view =
      Tensor::Wrap(type.dtype, type.dims, const_cast<void*>(source.data()), source.byte_size(), source.owner());
  return view.ok() ? std::optional<Tensor>(std::move(view).value()) : std::nullopt;
}

template <class T>
std::optional<Tensor> MakeTensor(DType dtype, const PartialInts& known) {
  std::vector<T> values;
  for (const PartialInt& element : known.elements) values.push_back(static_cast<T>(element.value));
  Shape shape;
  if (!known.scalar) shape.push_back(static_cast<int64_t>(values.size()));
  Result<Tensor> made = Tensor::FromValues<T>(dtype, std::move(shape), std::span<const T>(values));
  return made.ok() ? std::optional<Tensor>(std::move(made).value()) : std::nullopt;
}

std::optional<Tensor> ToTensor(DType dtype, const PartialInts& known) {
  switch (dtype) {
    case DType::kInt64: return MakeTensor<int64_t>(dtype, known);
    case DType::kInt32: return MakeTensor<int32_t>(dtype, known);
    case DType::kBool: return MakeTensor<uint8_t>(dtype, known);
    default: return std::nullopt;
  }
}

}  // namespace

Result<std::optional<std::vector<Tensor>>> FoldNode(const Graph& graph, const Node& node,
                                                    std::span<const Tensor> inputs, const Evaluator& evaluator,
                                                    size_t freed, FoldBudget& budget) {
  // A delegate recognizes an integer product by its dequantized weights.
  if (node.kind() == OpKind::kDequantizeLinear || DrawsNumbers(node.kind()))
    return std::optional<std::vector<Tensor>>();
  if (std::optional<Tensor> view = Viewed(graph, node, inputs))
    return std::optional<std::vector<Tensor>>(std::vector<Tensor>{std::move(*view)});
  if (!Fits(OutputBytes(graph, node), freed, budget) || budget.left_ns == 0)
    return std::optional<std::vector<Tensor>>();
  const uint64_t begin = NowNs();
  Result<std::vector<Tensor>> outputs = evaluator(node, inputs);
  budget.left_ns -= std::min(budget.left_ns, NowNs() - begin);
  if (!outputs.ok()) {
    switch (outputs.status().code()) {
      case StatusCode::kNotSupported:  // a node without a CPU kernel may still run on a delegate
      case StatusCode::kResourceExhausted:
      case StatusCode::kDeadlineExceeded: return std::optional<std::vector<Tensor>>();
      default: return std::move(outputs).status();  // a wrong value is the model's fault
    }
  }
  size_t bytes = 0;
  for (const Tensor& tensor : *outputs) bytes += tensor.byte_size();
  if (!Fits(bytes, freed, budget)) return std::optional<std::vector<Tensor>>();
  budget.left -= bytes > freed ? bytes - freed : 0;
  return std::optional<std::vector<Tensor>>(std::move(outputs).value());
}

std::span<const PartialInts* const> ShapeTracker::InputsOf(const Node& node) {
  if (known_.empty()) return {};
  inputs_.assign(node.inputs.size(), nullptr);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto found = known_.find(node.inputs[i]);
    if (found != known_.end()) inputs_[i] = &found->second;
  }
  return inputs_;
}

std::optional<Tensor> ShapeTracker::Follow(const Node& node, const InferenceContext& context) {
  if (node.outputs.size() != 1 || node.outputs[0] == kNone) return std::nullopt;
  std::optional<PartialInts> known = InferPartialInts(context);
  if (!known) return std::nullopt;
  if (known->all_known()) {
    std::optional<Tensor> tensor = ToTensor(context.outputs()[0].dtype, *known);
    known_.insert_or_assign(node.outputs[0], std::move(*known));
    return tensor;
  }
  known_.insert_or_assign(node.outputs[0], std::move(*known));
  return std::nullopt;
}

}  // namespace deputy::host
