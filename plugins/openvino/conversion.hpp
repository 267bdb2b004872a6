// A partition, or any set of a graph's nodes, as a model of OpenVINO: written as ONNX by the SDK, read by OpenVINO's
// front end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device.hpp"

namespace openvino {

struct Conversion {
  std::shared_ptr<ov::Model> model;
  // In the order of the model's parameters and results.
  std::vector<deputy_value_id> inputs, outputs;
  // In the order of `names`, which are those that OpenVINO has: unique, and without commas.
  std::vector<deputy_node_id> nodes;
  std::vector<std::string> names;
};

// NOT_SUPPORTED with OpenVINO's reason where its front end cannot read it.
sdk::Result<Conversion> Convert(const sdk::PartitionView& partition);
// Nodes in topological order. What they read from others becomes an input, what others read an output.
sdk::Result<Conversion> Convert(const sdk::GraphView& graph, const std::vector<deputy_node_id>& nodes);

// Neither a constant nor an input or output.
bool IsComputed(const ov::Node& op);

// Positions in `known` of the nodes to which operators of OpenVINO belong, whose names are joined by commas.
std::vector<size_t> FindNames(const std::string& joined, const std::vector<std::string>& known);

}  // namespace openvino
