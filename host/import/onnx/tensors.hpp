// TensorProto to Tensor: raw bytes, typed lists and external files, all checked against dtype and shape.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "deputy/tensor.hpp"
#include "import/onnx/external_files.hpp"
#include "import/onnx/proto.hpp"

namespace deputy::host::onnx_import {

// The element type of an ONNX number; kNotSupported, with its name, for a type that Deputy does not have, and kModel
// for a number that ONNX does not define.
Result<DType> DTypeFromProto(int32_t data_type);

// Reads the tensors of one file. Its protos come from the condensed copy. [one-thread]
class TensorReader {
 public:
  // `keep` as in ImportSource: tensors point into `bytes` where alignment allows, or are copies when it is null.
  TensorReader(std::span<const uint8_t> bytes, std::shared_ptr<const void> keep, ExternalFiles& files)
      : bytes_(bytes), keep_(std::move(keep)), files_(files) {}

  // kNotSupported: valid, but of a type that Deputy does not have (strings, 4-bit numbers, ...).
  Result<Tensor> Read(const pb::TensorProto& proto) const;
  // The same elements with the zeros filled in. kResourceExhausted: out of proportion to the file.
  Result<Tensor> ReadSparse(const pb::SparseTensorProto& proto);

 private:
  Result<Tensor> FromBytes(DType dtype, Shape shape, std::span<const uint8_t> bytes,
                           const std::shared_ptr<const void>& keep) const;
  Result<Tensor> FromExternal(const pb::TensorProto& proto, DType dtype, Shape shape, size_t size) const;

  std::span<const uint8_t> bytes_;
  std::shared_ptr<const void> keep_;
  ExternalFiles& files_;
  size_t dense_bytes_ = 0;  // of sparse tensors
};

}  // namespace deputy::host::onnx_import
