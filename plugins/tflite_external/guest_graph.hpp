// A graph of TensorFlow Lite operators, made of the host's nodes. Tensors of rank 4 have channels last in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace tflite_external {

using Dims = std::vector<int32_t>;

// One of float32, or of int32 where an operator reads a shape.
struct GuestTensor {
  std::string name;
  Dims dims;
  bool is_shape = false;
  std::shared_ptr<const std::vector<float>> constant;   // null: computed
  std::shared_ptr<const std::vector<int32_t>> numbers;  // of a shape
};

struct GuestNode {
  int32_t number = 0;  // of the operator
  std::string name;    // of the host's node
  deputy_node_id id = 0;
  std::vector<int32_t> inputs, outputs;
  std::shared_ptr<void> params;  // a struct of builtin_params.hpp; null without parameters
};

struct GuestGraph {
  std::vector<GuestTensor> tensors;
  std::vector<GuestNode> nodes;  // in topological order
  std::map<deputy_value_id, int32_t> tensor_of;
  std::vector<int32_t> inputs, outputs;
};

// The extents as the guest has them.
Dims GuestDims(deputy::sdk::Span<const int64_t> dims);

// Adds the node and its tensors. A "no" says why the node has no form in TensorFlow Lite; then the graph is unchanged.
deputy::sdk::Verdict AddNode(const deputy::sdk::NodeView& node, GuestGraph* graph);

// Between the order of the host, with channels second, and that of the guest; both have rank 4, `dims` those of the
// host.
void ToChannelsLast(const float* from, const int64_t* dims, float* to);
void ToChannelsSecond(const float* from, const int64_t* dims, float* to);

}  // namespace tflite_external
