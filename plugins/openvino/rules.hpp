// What is not given to OpenVINO although it would take it: element types that its CPU device computes in others, and
// operators that it computes otherwise than their definition says. Each is a fault that the conformance kit shows.
#pragma once

#include "device.hpp"

namespace openvino {

// For the node alone. Pure.
sdk::Verdict CheckNode(const sdk::NodeView& node);

// Does the node of ONNX mean the same in its operator set `version`? A model has one version for all of its nodes.
bool IsDefinitionIn(const sdk::NodeView& node, int32_t version);

}  // namespace openvino
