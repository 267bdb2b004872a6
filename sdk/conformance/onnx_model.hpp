// A case as a model file of ONNX, written field by field, so that the kit needs no library for it.
#pragma once

#include <cstdint>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

// One node, in the operator set of its definition; inputs and outputs are called as in CaseGraph, constants are
// initializers.
std::vector<uint8_t> OnnxModel(const Case& tested, const std::vector<reference::Tensor>& expected);

}  // namespace deputy::conformance
