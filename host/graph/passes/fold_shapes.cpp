#include "graph/passes/fold_shapes.hpp"

#include <utility>

namespace deputy::host {
namespace {

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
