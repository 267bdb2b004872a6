// The order of axes that an EP asks for: with the channels last, as ONNX Runtime rewrites graphs for such EPs.
// Operators for which the order matters are of another domain then, and Transposes stand where both orders meet.
#pragma once

#include <functional>

#include "own/model.hpp"

namespace ort::own {

inline constexpr const char* kChannelsLastDomain = "com.ms.internal.nhwc";

// Whether ONNX Runtime rewrites a node of this operator, unless the EP decides otherwise.
bool DependsOnLayout(const ModelNode& node);

// Rewrites the nodes for which `is_wished`. Values that the model's nodes share with others stay as they are; nodes
// that compute each element alone follow the order of their inputs. Nodes that are added have no number of the host.
void PutChannelsLast(Model& model, const std::function<bool(const ModelNode&)>& is_wished);

}  // namespace ort::own
