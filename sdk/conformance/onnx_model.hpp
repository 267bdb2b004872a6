// A case as a model file of ONNX, written field by field without a protobuf library.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "case.hpp"
#include "cases/models.hpp"

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

// A model of several nodes; an input of a node that is left out is kLeftOut. Its operator sets are the oldest that have
// the definitions of all nodes.
std::vector<uint8_t> OnnxModel(const ModelCase& model);
// A case as a model of one node.
ModelCase ModelOf(const Case& tested, const std::vector<Tensor>& expected);
// The file of one tensor in ONNX's test layout.
std::vector<uint8_t> OnnxTensor(const Tensor& tensor, const std::string& name);

}  // namespace deputy::conformance
