// TensorProto to Tensor: raw bytes, typed lists and external files, all checked against dtype and shape. TypeProto to
// ValueType, with the names of dynamic dimensions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "deputy/tensor.hpp"
#include "graph/graph.hpp"
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

// One numbering for a model and all its regions.
class Symbols {
 public:
  int64_t DimOf(const std::string& name);  // kUnknownDim for a name without meaning
  const std::vector<std::string>& names() const { return names_; }
  size_t byte_size() const { return bytes_; }  // the cost of a copy of the names

 private:
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::string> names_;
  size_t bytes_ = 0;
};

// Extents of -1 are unknown, as some exporters write them. kNotSupported: maps, sparse tensors, and sequences and
// optionals of other types than tensors and sequences of them. DType::kUndefined for an empty type.
Result<ValueType> ReadType(const pb::TypeProto& proto, Symbols& symbols);

}  // namespace deputy::host::onnx_import
