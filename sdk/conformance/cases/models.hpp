// Small models of several nodes: graph shapes that are difficult to partition. Every value is known, computed by the
// oracle node by node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

struct ModelValue {
  Tensor value;
  bool constant = false;
};

// An input of a node that is left out.
constexpr size_t kLeftOut = SIZE_MAX;

struct ModelNode {
  reference::Node node;
  std::vector<size_t> inputs, outputs;  // values
};

struct ModelCase {
  std::string label;  // "a diamond"
  std::vector<ModelValue> values;
  std::vector<ModelNode> nodes;  // in topological order
  std::vector<size_t> inputs, outputs;
};

std::vector<ModelCase> AllModels(uint64_t seed);

}  // namespace deputy::conformance
