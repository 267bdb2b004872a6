// ModelValue for programs, on the C API.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deputy.h"
#include "deputy/detail/memory.hpp"
#include "deputy/model_value.hpp"

namespace deputy {

inline Result<ModelValue> ModelValue::Sequence(DType dtype, std::vector<Tensor> elements) {
  for (size_t i = 0; i < elements.size(); ++i)
    if (elements[i].empty() || elements[i].dtype() != dtype)
      return Status(StatusCode::kInvalidArgument, elements[i].empty()
                                                      ? "element " + std::to_string(i) + " of a sequence is empty"
                                                      : "element " + std::to_string(i) + " of a sequence of " +
                                                            NameOf(dtype) + " is " + NameOf(elements[i].dtype()));
  ModelValue value;
  value.dtype_ = dtype;
  value.elements_ = std::make_shared<const std::vector<Tensor>>(std::move(elements));
  return value;
}

inline const std::vector<Tensor>& ModelValue::elements() const {
  static const std::vector<Tensor> none;
  return elements_ == nullptr ? none : *elements_;
}

}  // namespace deputy

namespace deputy::detail {

// Takes the value over.
inline Result<ModelValue> Adopt(const DeputyValue& value) {
  const std::shared_ptr<DeputyMemory> memory(value.memory, &DeputyMemoryRelease);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < value.count; ++i) {
    DeputyTensor tensor = value.tensors[i];
    DeputyMemoryRetain(value.memory);
    tensor.memory = value.memory;
    tensors.push_back(Adopt(tensor));
  }
  if (value.is_sequence != 0) return ModelValue::Sequence(static_cast<DType>(value.dtype), std::move(tensors));
  return tensors.empty() ? ModelValue() : ModelValue(std::move(tensors.front()));
}

}  // namespace deputy::detail
