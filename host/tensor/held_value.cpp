#include "tensor/held_value.hpp"

#include <utility>

#include "base/cancellation.hpp"

namespace deputy::host {

Result<Tensor> CopyOf(const deputy_tensor& tensor) {
  if (tensor.layout != DEPUTY_LAYOUT_DENSE || tensor.memory != DEPUTY_MEMORY_HOST)
    return Error(StatusCode::kInternal, "expected a dense tensor, got a value of another kind");
  DEPUTY_ASSIGN_OR_RETURN(
      Tensor copy, Tensor::Allocate(static_cast<DType>(tensor.dtype), Shape(tensor.dims, tensor.dims + tensor.rank)));
  if (copy.byte_size() != tensor.byte_size)
    return Error(StatusCode::kInternal, "a tensor has {} bytes, its shape requires {}", tensor.byte_size,
                 copy.byte_size());
  CopyInParts(copy.mutable_data(), tensor.data, copy.byte_size());
  return copy;
}

Result<ModelValue> ValueOf(const deputy_tensor& tensor) {
  if (const ModelValue* held = HeldValue(tensor)) return *held;
  DEPUTY_ASSIGN_OR_RETURN(Tensor copy, CopyOf(tensor));
  return ModelValue(std::move(copy));
}

}  // namespace deputy::host
