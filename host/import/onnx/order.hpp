// A topological order of nodes that a file may list in any order.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "import/onnx/proto.hpp"

namespace deputy::host::onnx_import {

// "node 'conv1' (Conv)" or "node 17 (Conv)" for a nameless one, fit for a message.
std::string Describe(const pb::NodeProto& node, int index);

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

// True for ONNX's Constant.
bool IsConstant(const pb::NodeProto& node);

// Indexes of `nodes`; nodes that are already in order keep it. A node also reads the names that its nested graphs use
// from outside. Constant nodes of one name keep their order and precede all readers of the name. Fails on a cycle,
// which it names, and on a name that two nodes produce which are not both constants.
Result<std::vector<int>> TopologicalOrder(const Nodes& nodes);

}  // namespace deputy::host::onnx_import
