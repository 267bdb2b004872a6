// One run of a compiled partition, as the EP sees it: inputs and outputs by their positions in the fused node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deputy/sdk/host.hpp"
#include "deputy/sdk/tensor_view.hpp"
#include "own/logger.hpp"
#include "own/value.hpp"

namespace ort {

struct NodeComputeContext {
  std::string name;
};

struct KernelContext {
  // A run's values are set before it; constants are set once.
  std::vector<const Value*> inputs = {};  // NULL: left out
  std::vector<Value*> outputs = {};
  std::vector<char> is_given = {};  // whether the EP has asked for an output, of each
  std::string failure = {};         // of an output, which the EP may have ignored
  std::vector<own::Memory> scratch = {};
  deputy::sdk::Host host = {};
  const Logger* logger = nullptr;
};

}  // namespace ort
