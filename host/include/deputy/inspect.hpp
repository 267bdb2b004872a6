// The contents of a model file: read, but neither placed nor prepared to run, so that a model which no delegate
// supports can still be inspected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy {

// A node in Deputy's form: already rewritten where the newest operator set differs from the file's.
struct InspectedNode {
  std::string name;  // as in the file; "node 17" when it has none
  std::string op_type, domain;
  int32_t since_version = 0;
  std::string region;                        // "" at the top, else the path of nodes and branches
  std::vector<std::string> inputs, outputs;  // "" where an optional one is left out
  std::vector<std::string> types;            // of the outputs, as far as known: "float32 [N,64,56,56]"
  uint64_t multiply_adds = 0;                // 0 while extents are dynamic, and inside regions
  std::string source;  // "model.py:42", where it was exported; "" where the model does not state it
  // Whether the CPU has a kernel for it; if not, the reason.
  bool on_cpu = false;
  std::string why_not;
};

// A model file as it was read; counts include the nodes of regions.
struct ModelContents {
  std::string format;  // "ONNX" or "dpm"
  uint64_t file_bytes = 0;
  std::vector<std::pair<std::string, std::string>> metadata;  // producer, operator sets, additions of the exporter
  std::vector<TensorInfo> inputs, outputs;
  std::vector<TensorInfo> states;    // values that a session holds between runs
  std::vector<std::string> symbols;  // names of dynamic dimensions
  std::vector<InspectedNode> nodes;  // topological order; those of a region follow the node that has it
  size_t regions = 0;
  uint64_t constants = 0, parameters = 0, constant_bytes = 0;  // tensors, their elements, their bytes
  uint64_t multiply_adds = 0;
  std::string problem;  // why types and extents could not be inferred; empty if they could
};

// `shapes_for`, if any, is called once with the model's inputs, and gives extents to those with dynamic dimensions;
// types and multiply-adds are then those for these shapes. Its error is returned as it is. kModel for data that is not
// a model, kNotFound for an unknown input. [any-thread]
Result<ModelContents> InspectModel(
    const std::string& path,
    const std::function<Result<NamedShapes>(const std::vector<TensorInfo>& inputs)>& shapes_for = {});

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/inspect.hpp"  // IWYU pragma: export
#endif
