// Writes nodes of a SourceGraph as a TensorFlow Lite file, which Deputy's importer reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deputy/status.hpp"
#include "flatbuffers/flatbuffers.h"
#include "source_graph.hpp"

namespace deputy::tflite_delegate {

// The number of an element type in a file; none for one that is not written.
std::optional<int8_t> FileTypeOf(tflite_abi::Type type);

// Nodes that become one file.
struct Subset {
  std::vector<size_t> nodes;             // places in SourceGraph::nodes, ascending
  std::vector<int32_t> inputs, outputs;  // tensors; without constants
};

struct WrittenModel {
  flatbuffers::DetachedBuffer bytes;
  std::vector<std::string> inputs, outputs;  // names, in the order of the subset's
};

// Operator i of the file is node i of the subset. kNotSupported where the format has no form for a node, or where the
// file would have more than 2 GB; the place of the error names the node.
Result<WrittenModel> WriteModel(const SourceGraph& graph, const Subset& subset);

}  // namespace deputy::tflite_delegate
