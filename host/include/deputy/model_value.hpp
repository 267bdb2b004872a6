// A value that a model takes or returns: a tensor, a sequence of tensors, or nothing for an empty optional. A class of
// its own beside Tensor, so that a Tensor always has a type, a shape and bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "deputy/dtype.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy {

// The kinds of inputs and outputs.
enum class ValueKind : uint8_t { kTensor = 0, kSequence = 1, kOptionalTensor = 2, kOptionalSequence = 3 };

constexpr bool IsOptional(ValueKind kind) {
  return kind == ValueKind::kOptionalTensor || kind == ValueKind::kOptionalSequence;
}
// Whether a value of this kind, if not empty, is a sequence.
constexpr bool HoldsSequence(ValueKind kind) {
  return kind == ValueKind::kSequence || kind == ValueKind::kOptionalSequence;
}

constexpr const char* NameOf(ValueKind kind) {
  switch (kind) {
    case ValueKind::kTensor: return "tensor";
    case ValueKind::kSequence: return "sequence";
    case ValueKind::kOptionalTensor: return "optional tensor";
    case ValueKind::kOptionalSequence: return "optional sequence";
  }
  return "unknown";
}

// Immutable; copies share the elements and their bytes. [any-thread]
class ModelValue {
 public:
  // Nothing: an optional without an element.
  ModelValue() = default;
  // An empty tensor gives nothing.
  ModelValue(Tensor tensor) : dtype_(tensor.dtype()), tensor_(std::move(tensor)) {}

  // A sequence of tensors of this type, whose shapes may differ; it may have none. Fails with kInvalidArgument when an
  // element is empty or of another type.
  static Result<ModelValue> Sequence(DType dtype, std::vector<Tensor> elements);

  bool empty() const { return tensor_.empty() && elements_ == nullptr; }
  bool is_tensor() const { return !tensor_.empty(); }
  bool is_sequence() const { return elements_ != nullptr; }
  // Of the tensor or of the elements; kUndefined when empty.
  DType dtype() const { return dtype_; }
  // Empty unless it is a tensor.
  const Tensor& tensor() const { return tensor_; }
  // None unless it is a sequence.
  const std::vector<Tensor>& elements() const;

 private:
  DType dtype_ = DType::kUndefined;
  Tensor tensor_;
  std::shared_ptr<const std::vector<Tensor>> elements_;
};

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/model_value.hpp"  // IWYU pragma: export
#endif
