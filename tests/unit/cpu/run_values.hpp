// Runs one node whose inputs and outputs need not be tensors, as the executor would.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensor/held_value.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {

inline ModelValue SequenceOf(std::vector<Tensor> elements, DType dtype = DType::kFloat32) {
  return ModelValue::Sequence(dtype, std::move(elements)).value();
}

// An input: a value, and what the model says it is. An empty one of kind kTensor is left out.
struct ValueInput {
  ModelValue value;
  ValueKind kind = ValueKind::kTensor;
  DType dtype = DType::kFloat32;  // of an empty optional
};
inline ValueInput In(Tensor tensor) { return {std::move(tensor)}; }
inline ValueInput In(ModelValue sequence) { return {std::move(sequence), ValueKind::kSequence}; }

// The place of one output: memory for a tensor, a value for anything else.
class OutputPlace final : public OutputAllocator {
 public:
  explicit OutputPlace(const ValueType& type) : is_tensor_(type.is_tensor()) {
    passed_.dtype = static_cast<deputy_dtype>(type.dtype);
    if (!is_tensor_) passed_.layout = DEPUTY_LAYOUT_OPAQUE;
  }
  Status Allocate(deputy_tensor*, std::span<const int64_t> dims) override {
    if (!is_tensor_) return Status(StatusCode::kInternal, "no tensor was planned");
    DEPUTY_ASSIGN_OR_RETURN(tensor_,
                            Tensor::Allocate(static_cast<DType>(passed_.dtype), Shape(dims.begin(), dims.end())));
    passed_ = AbiTensor(tensor_);
    return {};
  }
  Status Hold(deputy_tensor*, ModelValue value) override {
    if (is_tensor_) return Status(StatusCode::kInternal, "a tensor was planned");
    value_ = std::move(value);
    return {};
  }
  deputy_tensor* passed() { return &passed_; }
  ModelValue Take() const { return is_tensor_ ? ModelValue(tensor_) : value_; }

 private:
  const bool is_tensor_;
  deputy_tensor passed_ = {};
  Tensor tensor_;
  ModelValue value_;
};

inline Result<ModelValue> TryRunValues(Maker make, const PrimitiveBuilder& builder,
                                       const std::vector<ValueInput>& inputs) {
  Graph graph;
  Node node;
  node.primitive = builder.Finish();
  std::vector<ValueType> types;
  std::vector<Tensor> tensors;
  std::vector<deputy_tensor> passed(inputs.size());
  std::vector<const deputy_tensor*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueInput& input = inputs[i];
    const bool left_out = input.kind == ValueKind::kTensor && input.value.empty();
    tensors.push_back(input.value.tensor());
    types.push_back({input.value.empty() ? input.dtype : input.value.dtype(), false, {}, input.kind});
    if (input.kind == ValueKind::kTensor) types.back().ranked = true, types.back().dims = tensors.back().shape();
    node.inputs.push_back(left_out ? kNone : graph.AddValue("", types.back()));
    passed[i] = AbiTensor(tensors.back());
    if (input.kind != ValueKind::kTensor) {
      passed[i] = {};
      passed[i].layout = DEPUTY_LAYOUT_OPAQUE;
      passed[i].data = const_cast<ModelValue*>(&input.value);
    }
    pointers.push_back(left_out ? nullptr : &passed[i]);
  }
  node.outputs = {graph.AddValue("")};
  InferenceContext context(node, types, tensors);
  DEPUTY_RETURN_IF_ERROR(InferNode(context));
  graph.values[node.outputs[0]].type = context.outputs()[0];
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<CpuKernel> kernel, make(KernelSpec{node, graph}));
  OutputPlace place(context.outputs()[0]);
  if (!kernel->allocates_outputs()) DEPUTY_RETURN_IF_ERROR(place.Allocate(nullptr, context.outputs()[0].dims));
  deputy_tensor* outputs[] = {place.passed()};
  ThreadPool pool(1);
  Scratch scratch;
  DEPUTY_RETURN_IF_ERROR(kernel->Run(KernelArgs{pointers, outputs, pool, scratch, &place}));
  return place.Take();
}

inline ModelValue RunValues(Maker make, const PrimitiveBuilder& builder, const std::vector<ValueInput>& inputs) {
  Result<ModelValue> value = TryRunValues(make, builder, inputs);
  if (value.ok()) return std::move(value).value();
  ADD_FAILURE() << value.status().ToString();
  return {};
}

inline std::string RunError(Maker make, const PrimitiveBuilder& builder, const std::vector<ValueInput>& inputs) {
  const Result<ModelValue> value = TryRunValues(make, builder, inputs);
  return value.ok() ? std::string() : value.status().message();
}

}  // namespace deputy::host
