// The elements of a tensor as numbers, for all dtypes.
#pragma once

#include <cstdint>

#include "deputy/export.hpp"
#include "deputy/tensor.hpp"

namespace deputy {

// True for every dtype that has numbers: all but undefined and string.
DEPUTY_API bool IsNumeric(DType dtype);
DEPUTY_API bool IsFloating(DType dtype);

// The element at the flat index; 64-bit integers are rounded. The tensor must be numeric.
DEPUTY_API double ElementAt(const Tensor& tensor, int64_t index);

// Writes `value`, rounded towards zero for integers, to the nearest for floats; it must be in an integer's range.
DEPUTY_API void SetElement(Tensor& tensor, int64_t index, double value);

}  // namespace deputy
