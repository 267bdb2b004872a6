// Types of values, and the names of dynamic dimensions.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "graph/graph.hpp"
#include "import/onnx/proto.hpp"

namespace deputy::host::onnx_import {

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
