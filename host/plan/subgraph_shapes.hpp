// The shapes of a partition's inputs and outputs, as tensors without data: the target of resizing a context.
#pragma once

#include <vector>

#include "deputy/abi/tensor.h"
#include "graph/graph.hpp"

namespace deputy::host {

// Points into the graph, which must live as long. Not copied: the arrays point into each other.
struct SubgraphShapes {
  std::vector<deputy_tensor> tensors;
  std::vector<const deputy_tensor*> inputs, outputs;

  // Every value's extents must be known.
  SubgraphShapes(const Graph& graph, const std::vector<ValueId>& input_ids, const std::vector<ValueId>& output_ids) {
    tensors.reserve(input_ids.size() + output_ids.size());
    for (const ValueId id : input_ids) inputs.push_back(Add(graph, id));
    for (const ValueId id : output_ids) outputs.push_back(Add(graph, id));
  }
  SubgraphShapes(const SubgraphShapes&) = delete;
  SubgraphShapes& operator=(const SubgraphShapes&) = delete;

 private:
  const deputy_tensor* Add(const Graph& graph, ValueId id) {
    if (id == kNone) return nullptr;
    const ValueType& type = graph.values[id].type;
    deputy_tensor& tensor = tensors.emplace_back();
    tensor = {};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = static_cast<deputy_dtype>(type.dtype);
    tensor.rank = static_cast<uint32_t>(type.dims.size());
    tensor.dims = type.dims.data();
    const Result<size_t> bytes = ByteSize(type.dtype, type.dims);
    tensor.byte_size = bytes.ok() ? *bytes : 0;
    return &tensor;
  }
};

}  // namespace deputy::host
