// The elements of a tensor as numbers, for all dtypes.
#pragma once

#include <cstdint>

#include "deputy/tensor.hpp"

namespace deputy {

// True for every dtype that has numbers: all but undefined and string.
constexpr bool IsNumeric(DType dtype) { return BitsOf(dtype) != 0; }
constexpr bool IsFloating(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0:
    case DType::kFloat4E2M1: return true;
    default: return false;
  }
}

// The element at the flat index; 64-bit integers are rounded. The tensor must be numeric.
double ElementAt(const Tensor& tensor, int64_t index);

// Writes `value`, rounded towards zero for integers, to the nearest for floats; it must be in an integer's range.
void SetElement(Tensor& tensor, int64_t index, double value);

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/element.hpp"  // IWYU pragma: export
#endif
