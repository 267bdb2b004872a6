// Tensors in files: .npy, .pb (ONNX TensorProto), and raw bytes. Sequences and optionals in .pb files.
#pragma once

#include <string>

#include "deputy/model_value.hpp"
#include "deputy/tensor.hpp"

namespace deputy {

// By the file's name: .npy and .pb contain their dtype and shape; any other file is raw, and then `dtype` and `shape`
// are needed and must match its size.
Result<Tensor> ReadTensorFile(const std::string& path, DType dtype = DType::kUndefined, const Shape& shape = {});

// A value of this kind: a tensor as above, any other kind as ONNX's SequenceProto or OptionalProto, regardless of the
// file's name. `dtype` is that of a sequence without elements, which the file does not tell.
Result<ModelValue> ReadValueFile(const std::string& path, ValueKind kind, DType dtype);

// Writes .npy. numpy has no bfloat16: kNotSupported.
Status WriteTensorFile(const std::string& path, const Tensor& tensor);

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/tensor_file.hpp"  // IWYU pragma: export
#endif
