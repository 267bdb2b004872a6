// Shared by kernels that return a tensor which they hold: an element of a sequence, or of an optional.
#pragma once

#include <span>

#include "cpu/kernel.hpp"

namespace deputy::host {

// Output 0 with memory for such a tensor; null when it is omitted. Fails when the model has another type for it.
Result<deputy_tensor*> AllocateTensor(const KernelArgs& args, DType dtype, std::span<const int64_t> dims);

// Copies the tensor to output 0.
Status WriteTensor(const KernelArgs& args, const Tensor& tensor);

}  // namespace deputy::host
