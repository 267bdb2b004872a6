// Conversion of tensors to the element type and the shape of a model's input.
#pragma once

#include <optional>
#include <utility>

#include "deputy/element.hpp"

namespace deputy::cli {

// Between floating-point types elements are rounded. Between other types they must not change: empty if one would, and
// for types that are not numeric.
std::optional<Tensor> ConvertTensor(const Tensor& tensor, DType dtype);

// Every element, rounded to the nearest value of the type (a half to the even one). kInvalidArgument for types that are
// not numeric, and for an element that is out of the type's range or that the conversion would change otherwise: NaN to
// an integer, an integer beyond 2^53 to another type of 64 bits.
Result<Tensor> ConvertRounded(const Tensor& tensor, DType dtype);

// The range of an integer type, as far as a double can represent it; infinite for others.
std::pair<double, double> RangeOf(DType dtype);

// numpy has no bfloat16, so ONNX's test data store its bits as uint16: returns them as the declared type, sharing
// memory. Any other tensor is returned unchanged.
Tensor AsBits(Tensor tensor, DType declared);

// The only element of a tensor, repeated to fill `shape`; empty if there are more elements or unknown extents.
std::optional<Tensor> RepeatElement(const Tensor& tensor, const Shape& shape);

}  // namespace deputy::cli
