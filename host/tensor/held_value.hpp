// How a value that is not a tensor passes between the steps of a plan: as a tensor of opaque layout whose data is the
// ModelValue. Only the host makes and reads such tensors; plugins never see one.
#pragma once

#include "base/status.hpp"
#include "deputy/abi/tensor.h"
#include "deputy/model_value.hpp"

namespace deputy::host {

// The value that such a tensor holds; null for a plain tensor.
inline const ModelValue* HeldValue(const deputy_tensor& tensor) {
  return tensor.layout == DEPUTY_LAYOUT_OPAQUE ? static_cast<const ModelValue*>(tensor.data) : nullptr;
}

// A copy of the elements of a plain tensor.
Result<Tensor> CopyOf(const deputy_tensor& tensor);

// The value that the tensor holds, shared; a copy for a plain tensor.
Result<ModelValue> ValueOf(const deputy_tensor& tensor);

}  // namespace deputy::host
