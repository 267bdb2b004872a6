// Quantized operators as EPs recognize them: beside each operand its own DequantizeLinear.
#pragma once

#include "own/model.hpp"

namespace ort::own {

// Gives each reader of a dequantized value a node of its own, as ONNX Runtime does before it asks EPs. The copies have
// the number of the host's node.
void SplitDequantization(Model& model);

}  // namespace ort::own
