// A topological order of nodes that a file may list in any order.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "import/onnx/proto.hpp"

namespace deputy::host::onnx_import {

// "node 'conv1' (Conv)" or "node 17 (Conv)" for a nameless one, fit for a message.
std::string Describe(const pb::NodeProto& node, int index);

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

// True for a node that states a constant, ONNX's Constant.
bool IsConstant(const pb::NodeProto& node);

// Indexes of `nodes`; an order that is already right is kept. What the graphs inside a node use from outside counts as
// read by the node. Constant nodes of one name keep their order and come before all that reads the name. Fails on a
// cycle, which it names, and on a name that two nodes make which are not both constants.
Result<std::vector<int>> TopologicalOrder(const Nodes& nodes);

}  // namespace deputy::host::onnx_import
