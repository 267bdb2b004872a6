// A graph of TensorFlow Lite operators, made of the host's nodes. Tensors of rank 4 have channels last in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../tflite_abi/tflite_abi.hpp"
#include "deputy/sdk/sdk.hpp"

namespace tflite_external {

using Dims = std::vector<int32_t>;

// In files and registrations.
enum OperatorNumber : int32_t {
  kAdd = 0,
  kAveragePool = 1,
  kConcatenation = 2,
  kConv = 3,
  kDepthwiseConv = 4,
  kDequantize = 6,
  kFullyConnected = 9,
  kLogistic = 14,
  kMaxPool = 17,
  kMul = 18,
  kRelu = 19,
  kRelu6 = 21,
  kReshape = 22,
  kSoftmax = 25,
  kTanh = 28,
  kSub = 41,
  kDiv = 42,
  kExp = 47,
  kNeg = 59,
  kSqrt = 75,
  kLeakyRelu = 98,
  kAbs = 101,
  kQuantize = 114,
};

struct GuestTensor {
  std::string name;
  Dims dims;
  deputy::tflite_abi::Type type = deputy::tflite_abi::kFloat32;
  std::shared_ptr<const std::vector<char>> constant;  // null: computed
  std::vector<float> scales;                          // none: not quantized
  std::vector<int32_t> zero_points;
  int32_t axis = 0;        // of the scales, where there are several
  int32_t quantized = -1;  // of a constant of floats: the tensor with the integers that they were made of
};

struct GuestNode {
  int32_t number = 0;               // of the operator
  std::string name;                 // of the host's node
  std::vector<deputy_node_id> ids;  // of the host's nodes that it stands for, the one that computes first
  std::vector<int32_t> inputs, outputs;
  std::shared_ptr<void> params;  // a struct of builtin_params.hpp; null without parameters
};

// A constant behind a DequantizeLinear: integers in the order of the host.
struct Dequantized {
  deputy::sdk::ValueView integers;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  size_t axis = 0;
  deputy_node_id node = 0;
};

struct GuestGraph {
  std::vector<GuestTensor> tensors;
  std::vector<GuestNode> nodes;  // in topological order
  std::map<deputy_value_id, int32_t> tensor_of;
  std::vector<int32_t> inputs, outputs;
  std::map<deputy_value_id, Dequantized> dequantized;
};

// The extents as the guest has them.
Dims GuestDims(deputy::sdk::Span<const int64_t> dims);

// Adds the node and its tensors, after the nodes that it reads. A "no" says why the node has no form in TensorFlow
// Lite; then the graph is unchanged.
deputy::sdk::Verdict AddNode(const deputy::sdk::NodeView& node, GuestGraph* graph);

// Makes operators on integers of those between DEQUANTIZE and QUANTIZE, where the guest has such a form. After the
// inputs and outputs of the graph are set.
void FuseQuantization(GuestGraph* graph);

// Between the order of the host, with channels second, and that of the guest; both have rank 4, `dims` those of the
// host and elements `size` bytes, 1 or 4.
void ToChannelsLast(const void* from, const int64_t* dims, size_t size, void* to);
void ToChannelsSecond(const void* from, const int64_t* dims, size_t size, void* to);

}  // namespace tflite_external
