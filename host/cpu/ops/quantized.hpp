// What the kernels of quantized tensors read alike.
#pragma once

#include "cpu/ops/untyped.hpp"

namespace deputy::host {

// The scales of an input as float32: the tensor's own elements, or these converted into `memory`, which holds as many.
Result<const float*> ReadScales(const KernelArgs& args, size_t input, float* memory);

// The only one of an input.
Result<float> ReadScale(const KernelArgs& args, size_t input);

// Null when the input is left out; fails unless it has this type and as many elements.
Result<const void*> ReadZeroPoints(const KernelArgs& args, size_t input, DType dtype, int64_t count);

}  // namespace deputy::host
