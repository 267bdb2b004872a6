// The scales and zero points of quantized tensors.
#pragma once

#include "cpu/ops/untyped.hpp"

namespace deputy::host {

// The scales of an input as float32: the tensor's own elements, or their conversion in `memory`, which has the same
// size.
Result<const float*> ReadScales(const KernelArgs& args, size_t input, float* memory);

// The only scale of an input.
Result<float> ReadScale(const KernelArgs& args, size_t input);

// Null when the input is omitted; fails unless it has this type and number of elements.
Result<const void*> ReadZeroPoints(const KernelArgs& args, size_t input, DType dtype, int64_t count);

}  // namespace deputy::host
