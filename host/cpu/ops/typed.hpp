// What the kernels share whose element type is fixed when they are made.
#pragma once

#include "cpu/ops/untyped.hpp"

namespace deputy::host {

// The input is there, has this type, and as many bytes as its extents need.
inline Status CheckTyped(const ConstView& input, DType dtype) {
  DEPUTY_RETURN_IF_ERROR(ElementBytes(input).status());
  if (input.dtype() == dtype) return {};
  return Error(StatusCode::kInternal, "an input is {} where {} was planned", NameOf(input.dtype()), NameOf(dtype));
}

// The output is there, has this type, and as many bytes as its own extents need.
inline Status CheckTypedOutput(const MutableView& output, DType dtype) {
  if (!output.present()) return Error(StatusCode::kInternal, "an output is missing");
  return CheckOutput(output, dtype, output.dims());
}

}  // namespace deputy::host
