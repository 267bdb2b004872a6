// Checks for kernels whose element type is fixed when they are made.
#pragma once

#include "cpu/ops/untyped.hpp"

namespace deputy::host {

// The input is present, has this type, and as many bytes as its extents need.
inline Status CheckTyped(const ConstView& input, DType dtype) {
  if (input.present() && input.dtype() == dtype && BytesFit(dtype, input.dims(), input.byte_size())) return {};
  return ExplainInput(input, dtype);
}

// The output is present, has this type, and as many bytes as its extents need.
inline Status CheckTypedOutput(const MutableView& output, DType dtype) {
  if (!output.present()) return ExplainOutput(output, dtype, {});
  return CheckOutput(output, dtype, output.dims());
}

}  // namespace deputy::host
