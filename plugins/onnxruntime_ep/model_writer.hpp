// Nodes of a graph of ONNX Runtime as an ONNX model in memory. The numbers of the fields are those of onnx.proto
// (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
#pragma once

#include <string>
#include <vector>

#include "deputy/status.hpp"
#include "graph.hpp"

namespace ort_ep {

struct WrittenModel {
  std::string bytes;
  // The model but for the elements of its constants, which a graph has once under each name: the same nodes of the same
  // graph have the same key, in any order.
  std::string key;
};

// `nodes` are indices into graph.nodes. Values keep their names; inputs and outputs are in the order of their names.
// kNotSupported: an attribute that could not be read, a constant of strings, no outputs, or more than 2 GiB.
deputy::Result<WrittenModel> WriteModel(const Graph& graph, const std::vector<size_t>& nodes);

}  // namespace ort_ep
