// Values of quantized tensors and their scales.
#pragma once

#include "random/draft.hpp"

namespace deputy::conformance {

// Any values of an 8-bit type.
inline reference::Tensor Bytes(Draft& d, deputy_dtype dtype, reference::Dims dims) {
  reference::Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Put(i, dtype == kU8 ? d.Between(0, 255) : d.Between(-128, 127));
  return tensor;
}

inline reference::Tensor ZeroPoint(Draft& d, deputy_dtype dtype, reference::Dims dims) {
  reference::Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Put(i, d.Between(IsUnsigned(dtype) ? 0 : -20, 40));
  return tensor;
}

// Powers of two, so that no quotient is nearly a tie, and odd multiples of them.
inline reference::Tensor Scale(Draft& d, deputy_dtype dtype, reference::Dims dims) {
  reference::Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.Put(i, d.Pick<double>({0.015625, 0.03125, 0.0625, 0.046875, 0.078125}));
  return tensor;
}

}  // namespace deputy::conformance
