// Operators on integers, of those on floats between conversions.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "../tflite_abi/builtin_params.hpp"
#include "guest_graph.hpp"

namespace tflite_external {
namespace {

namespace abi = deputy::tflite_abi;

constexpr float kScaleError = 1e-5F;  // of a bias, relative to that of its product

bool HasWeights(int32_t number) { return number == kConv || number == kDepthwiseConv || number == kFullyConnected; }
// Elements are moved or chosen as they are stored.
bool KeepsIntegers(int32_t number) {
  return number == kAveragePool || number == kMaxPool || number == kConcatenation || number == kReshape;
}

// In the parameters of the operator; null where it has none.
int* ActivationOf(const GuestNode& node) {
  void* const params = node.params.get();
  switch (node.number) {
    case kConv: return &static_cast<abi::ConvParams*>(params)->activation;
    case kDepthwiseConv: return &static_cast<abi::DepthwiseConvParams*>(params)->activation;
    case kFullyConnected: return &static_cast<abi::FullyConnectedParams*>(params)->activation;
    case kAdd:
    case kMul: return &static_cast<abi::ActivationParams*>(params)->activation;
    default: return nullptr;
  }
}

class Fuser {
 public:
  explicit Fuser(GuestGraph* graph) : graph_(*graph) {}

  void Run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) Fuse(i);
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (IsIdle(i)) removed_.insert(i);
    std::vector<GuestNode> kept;
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (removed_.count(i) == 0) kept.push_back(std::move(graph_.nodes[i]));
    graph_.nodes = std::move(kept);
  }

 private:
  const GuestTensor& At(int32_t tensor) const { return graph_.tensors[static_cast<size_t>(tensor)]; }

  // The node that writes a tensor; none: the number of nodes.
  size_t WriterOf(int32_t tensor) const {
    size_t i = 0;
    while (i < graph_.nodes.size() && (removed_.count(i) != 0 || graph_.nodes[i].outputs[0] != tensor)) ++i;
    return i;
  }
  std::vector<size_t> ReadersOf(int32_t tensor) const {
    std::vector<size_t> readers;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::vector<int32_t>& inputs = graph_.nodes[i].inputs;
      if (removed_.count(i) == 0 && std::find(inputs.begin(), inputs.end(), tensor) != inputs.end())
        readers.push_back(i);
    }
    return readers;
  }
  // Of a tensor that leaves the graph: none.
  size_t OnlyReaderOf(int32_t tensor) const {
    const std::vector<size_t> readers = ReadersOf(tensor);
    return readers.size() == 1 && !IsOutput(tensor) ? readers[0] : graph_.nodes.size();
  }
  bool IsOutput(int32_t tensor) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), tensor) != graph_.outputs.end();
  }
  // A conversion to floats that nothing reads any more.
  bool IsIdle(size_t i) const {
    const GuestNode& node = graph_.nodes[i];
    return node.number == kDequantize && ReadersOf(node.outputs[0]).empty() && !IsOutput(node.outputs[0]);
  }

  void Fuse(size_t place) {
    GuestNode& node = graph_.nodes[place];
    if (!HasWeights(node.number) && !KeepsIntegers(node.number) && node.number != kAdd && node.number != kMul) return;
    size_t next = OnlyReaderOf(node.outputs[0]), activation = graph_.nodes.size();
    int* const activates = ActivationOf(node);
    if (next < graph_.nodes.size() && activates != nullptr &&
        (graph_.nodes[next].number == kRelu || graph_.nodes[next].number == kRelu6))
      next = OnlyReaderOf(graph_.nodes[activation = next].outputs[0]);
    if (next == graph_.nodes.size() || graph_.nodes[next].number != kQuantize) return;
    std::vector<int32_t> inputs;
    std::vector<deputy_node_id> ids;
    for (const int32_t input : node.inputs) {
      const size_t writer = WriterOf(input);
      const bool is_shape = At(input).type == abi::kInt32 && At(input).constant != nullptr;
      if (is_shape) {
        inputs.push_back(input);
      } else if (At(input).quantized >= 0) {
        inputs.push_back(At(input).quantized);
      } else if (writer < graph_.nodes.size() && graph_.nodes[writer].number == kDequantize) {
        inputs.push_back(graph_.nodes[writer].inputs[0]);
        ids.insert(ids.end(), graph_.nodes[writer].ids.begin(), graph_.nodes[writer].ids.end());
      } else {
        return;
      }
    }
    const GuestNode& last = graph_.nodes[next];
    if (!HasForm(node.number, inputs, last.outputs[0])) return;
    ids.insert(ids.end(), last.ids.begin(), last.ids.end());
    node.inputs = std::move(inputs);
    node.outputs = last.outputs;
    node.ids.insert(node.ids.end(), ids.begin(), ids.end());
    removed_.insert(next);
    if (activation == graph_.nodes.size()) return;
    const GuestNode& applied = graph_.nodes[activation];
    *activates = applied.number == kRelu ? 1 : 3;
    node.ids.insert(node.ids.end(), applied.ids.begin(), applied.ids.end());
    removed_.insert(activation);
  }

  bool HasForm(int32_t number, const std::vector<int32_t>& inputs, int32_t output) const {
    const GuestTensor& to = At(output);
    if (HasWeights(number)) {
      const GuestTensor &x = At(inputs[0]), &weights = At(inputs[1]), &bias = At(inputs[2]);
      if (x.type != to.type || weights.type != x.type || x.scales.size() != 1) return false;
      // Signed weights have no zero points, unsigned ones have a single scale.
      const bool is_symmetric = std::all_of(weights.zero_points.begin(), weights.zero_points.end(),
                                            [](int32_t zero_point) { return zero_point == 0; });
      if (weights.type == abi::kInt8 ? !is_symmetric : weights.scales.size() != 1) return false;
      if (bias.type != abi::kInt32 || bias.scales.size() != weights.scales.size()) return false;
      for (size_t i = 0; i < bias.scales.size(); ++i) {
        const float product = x.scales[0] * weights.scales[i];
        if (std::fabs(bias.scales[i] - product) > product * kScaleError) return false;
      }
      return weights.scales.size() == 1 || number != kFullyConnected;
    }
    return std::all_of(inputs.begin(), inputs.end(), [&](int32_t input) {
      const GuestTensor& from = At(input);
      if (from.scales.empty()) return true;  // a shape
      return from.type == to.type && from.scales.size() == 1 &&
             (!KeepsIntegers(number) || (from.scales == to.scales && from.zero_points == to.zero_points));
    });
  }

  GuestGraph& graph_;
  std::set<size_t> removed_;
};

}  // namespace

void FuseQuantization(GuestGraph* graph) { Fuser(graph).Run(); }

}  // namespace tflite_external
