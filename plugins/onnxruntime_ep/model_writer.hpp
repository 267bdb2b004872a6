// Nodes of a graph of ONNX Runtime as an ONNX model in memory. The numbers of the fields are those of onnx.proto
// (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/status.hpp"
#include "graph.hpp"

namespace ort_ep {

class WrittenModel {
 public:
  // The model but for the elements of its constants, which a graph has once under each name: the same nodes of the same
  // graph have the same key, in any order.
  const std::string& key() const { return key_; }
  // With a copy of the elements, where ONNX Runtime still has them.
  std::string Bytes() const;

 private:
  friend class ModelWriter;
  std::string key_;
  std::vector<std::pair<size_t, std::string_view>> elements_;  // and where they belong in the key
  uint64_t size_ = 0;
};

// `nodes` are indices into graph.nodes. Values keep their names; inputs and outputs are in the order of their names.
// kNotSupported: an attribute that could not be read, a constant of strings, no outputs, or more than 2 GiB.
deputy::Result<WrittenModel> WriteModel(const Graph& graph, const std::vector<size_t>& nodes);

}  // namespace ort_ep
