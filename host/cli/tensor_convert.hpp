// Data of one element type for a model that takes another.
#pragma once

#include <optional>

#include "deputy/tensor.hpp"

namespace deputy::cli {

// Between floating point types the elements are rounded. Between others they must not change by it: empty where one
// would, and for types that are no numbers.
std::optional<Tensor> ConvertTensor(const Tensor& tensor, DType dtype);

// numpy has no bfloat16, so that ONNX's test data hold its bits as uint16: those bits as what the model declares,
// sharing memory. Any other tensor as it is.
Tensor AsBits(Tensor tensor, DType declared);

// The only element of a tensor, as often as `shape` holds; empty where there are more, or extents that are not known.
std::optional<Tensor> RepeatElement(const Tensor& tensor, const Shape& shape);

}  // namespace deputy::cli
