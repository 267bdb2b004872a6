// The elements of a tensor as numbers, for all dtypes, and their conversion to the element type of a model.
#pragma once

#include <cstdint>
#include <optional>

#include "deputy/tensor.hpp"

namespace deputy::cli {

// True for every dtype that has numbers: all but undefined and string.
bool IsNumeric(DType dtype);
bool IsFloating(DType dtype);

// The element at the flat index; 64-bit integers are rounded. The tensor must be numeric.
double ElementAt(const Tensor& tensor, int64_t index);

// Writes `value`, rounded towards zero for integers, to the nearest for floats; it must be in an integer's range.
void SetElement(Tensor& tensor, int64_t index, double value);

// Between floating-point types elements are rounded. Between other types they must not change: empty if one would, and
// for types that are not numeric.
std::optional<Tensor> ConvertTensor(const Tensor& tensor, DType dtype);

// numpy has no bfloat16, so ONNX's test data store its bits as uint16: returns them as the declared type, sharing
// memory. Any other tensor is returned unchanged.
Tensor AsBits(Tensor tensor, DType declared);

// The only element of a tensor, repeated to fill `shape`; empty if there are more elements or unknown extents.
std::optional<Tensor> RepeatElement(const Tensor& tensor, const Shape& shape);

}  // namespace deputy::cli
