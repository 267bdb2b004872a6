// How a value that is not a tensor passes between the steps of a plan: as a tensor whose memory is of a kind that the
// ABI does not have, and whose data is the ModelValue. Only the host makes and reads such tensors; plugins never see
// one.
#pragma once

#include "base/status.hpp"
#include "deputy/abi/tensor.h"
#include "deputy/model_value.hpp"

namespace deputy::host {

inline constexpr deputy_memory_kind kHeldMemory = UINT32_MAX;
inline bool IsHeld(const deputy_tensor& tensor) { return tensor.memory == kHeldMemory; }

// The value that such a tensor holds; null for a plain tensor.
inline const ModelValue* HeldValue(const deputy_tensor& tensor) {
  return IsHeld(tensor) ? static_cast<const ModelValue*>(tensor.data) : nullptr;
}

// A copy of the elements of a plain tensor.
Result<Tensor> CopyOf(const deputy_tensor& tensor);

// The value that the tensor holds, shared; a copy for a plain tensor.
Result<ModelValue> ValueOf(const deputy_tensor& tensor);

}  // namespace deputy::host
