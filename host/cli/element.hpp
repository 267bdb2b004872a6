// One element of a tensor as a number, for all dtypes.
#pragma once

#include <cstdint>

#include "deputy/tensor.hpp"

namespace deputy::cli {

// True for every dtype that has numbers: all but undefined and string.
bool IsNumeric(DType dtype);
bool IsFloating(DType dtype);

// The element at the flat index; 64-bit integers are rounded. The tensor must be numeric.
double ElementAt(const Tensor& tensor, int64_t index);

// Writes `value`, rounded towards zero for integers, to the nearest for floats; it must be in an integer's range.
void SetElement(Tensor& tensor, int64_t index, double value);

}  // namespace deputy::cli
