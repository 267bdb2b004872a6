// Tensors in files: .npy, .pb (ONNX TensorProto), and raw bytes. Sequences and optionals in .pb files.
#pragma once

#include <string>

#include "deputy/export.hpp"
#include "deputy/model_value.hpp"
#include "deputy/tensor.hpp"

namespace deputy {

// By the file's name: .npy and .pb say their dtype and shape themselves; anything else is raw, and then `dtype` and
// `shape` are needed and its size must fit them.
DEPUTY_API Result<Tensor> ReadTensorFile(const std::string& path, DType dtype = DType::kUndefined,
                                         const Shape& shape = {});

// A value of this kind: a tensor as above, anything else as ONNX's SequenceProto or OptionalProto, whatever the file's
// name. `dtype` is that of a sequence without elements, which the file does not tell.
DEPUTY_API Result<ModelValue> ReadValueFile(const std::string& path, ValueKind kind, DType dtype);

// Writes .npy. numpy has no bfloat16: kNotSupported.
DEPUTY_API Status WriteTensorFile(const std::string& path, const Tensor& tensor);

}  // namespace deputy
