// How a value that is no tensor passes between the steps of a plan: as a tensor of opaque layout whose data is the
// ModelValue. Only the host makes such tensors and only the host reads them; plugins never see one.
#pragma once

#include "base/status.hpp"
#include "deputy/abi/tensor.h"
#include "deputy/model_value.hpp"

namespace deputy::host {

// The value that such a tensor stands for; null for a tensor that is one.
inline const ModelValue* HeldValue(const deputy_tensor& tensor) {
  return tensor.layout == DEPUTY_LAYOUT_OPAQUE ? static_cast<const ModelValue*>(tensor.data) : nullptr;
}

// A copy of the elements of a tensor that is one.
Result<Tensor> CopyOf(const deputy_tensor& tensor);

// What the tensor stands for, shared, or a copy of what it is.
Result<ModelValue> ValueOf(const deputy_tensor& tensor);

}  // namespace deputy::host
