// The description of a tensor in a .tflite file: element type, shape, quantization, and the elements of a constant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "deputy/tensor.hpp"
#include "import/tflite/model_file.hpp"

namespace deputy::host::tflite_import {

// real = (stored - zero_point) * scale; one scale for all elements, or one for each index of `axis`.
struct Quantization {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;  // as many as scales
  size_t axis = 0;

  bool per_axis() const { return scales.size() > 1; }
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;  // -1: unknown
  Quantization quantization;  // without scales if the tensor has none
  uint32_t buffer = 0;
  bool packed = false;       // two elements to a byte; they are unpacked to int8
  bool is_complex = false;   // float32, with the real and the imaginary part along a last axis of `dims`
  bool is_resource = false;  // names a variable and has no elements
  bool is_variable = false;  // has a value before the first run, and its operator changes it
  const fb::SparsityParameters* sparsity = nullptr;  // of a constant without its zeros

  // Whether the elements are quantized real numbers. Integers of 32 bits and more are indices, shapes and biases.
  bool is_quantized() const {
    return !quantization.scales.empty() && (dtype == DType::kInt8 || dtype == DType::kUint8 || dtype == DType::kInt16);
  }
};

// kNotSupported for valid types that Deputy does not have: strings, complex numbers of 64 bits per part, ...
Result<TensorInfo> ReadTensorInfo(ModelFile& file, const fb::Tensor& table);

// The elements of a constant, with its zeros; empty (Tensor::empty) for a tensor that is not constant.
Result<Tensor> ReadConstant(ModelFile& file, const TensorInfo& info);

// All elements of a constant that has `sparsity`; `bytes` are the elements in the file.
Result<Tensor> ReadSparse(ModelFile& file, const TensorInfo& info, std::span<const uint8_t> bytes);

}  // namespace deputy::host::tflite_import
