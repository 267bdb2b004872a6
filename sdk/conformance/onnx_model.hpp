// A case as a model file of ONNX, written field by field without a protobuf library.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

// The extents that a model does not know before the run; each gets a name of its own.
struct UnknownExtents {
  std::set<std::pair<size_t, size_t>> inputs;  // input and axis
  bool outputs = false;                        // the outputs are declared without a shape
};

// One node, in the operator set of its definition; inputs and outputs are called as in CaseGraph, constants are
// initializers.
std::vector<uint8_t> OnnxModel(const Case& tested, const std::vector<Tensor>& expected,
                               const UnknownExtents& unknown = {});

}  // namespace deputy::conformance
