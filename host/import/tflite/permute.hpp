// Constants whose axes are permuted during import: TensorFlow Lite has channels last, ONNX has them second.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy::host::tflite_import {

// Like Transpose: axis i of the result is axis perm[i] of `tensor`. Works on any element type with a size.
Result<Tensor> Permuted(const Tensor& tensor, std::span<const int64_t> perm);

// {list[perm[0]], list[perm[1]], ...}
std::vector<int64_t> Permuted(std::span<const int64_t> list, std::span<const int64_t> perm);

// The same bytes in another shape of as many elements.
Result<Tensor> Reshaped(const Tensor& tensor, Shape shape);

}  // namespace deputy::host::tflite_import
