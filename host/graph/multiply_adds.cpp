#include "graph/graph.hpp"

namespace deputy::host {
namespace {

// Elements of an input or output, 0 when unknown or absent.
uint64_t Elements(const Graph& graph, const std::vector<ValueId>& ids, size_t i) {
  if (i >= ids.size() || ids[i] == kNone || !graph.values[ids[i]].type.is_static()) return 0;
  return static_cast<uint64_t>(ElementCount(graph.values[ids[i]].type.dims));
}

uint64_t Dim(const Graph& graph, ValueId id, int64_t axis) {
  const ValueType& type = graph.values[id].type;
  const int64_t rank = static_cast<int64_t>(type.dims.size());
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (!type.ranked || at < 0 || at >= rank || type.dims[static_cast<size_t>(at)] < 0) return 0;
  return static_cast<uint64_t>(type.dims[static_cast<size_t>(at)]);
}

// Every output element is a dot product over one filter; `weights` is the index of the filters among the inputs.
uint64_t OfConvolution(const Graph& graph, const Node& node, size_t weights) {
  const uint64_t filters = Dim(graph, node.inputs[weights], 0);
  return filters == 0 ? 0 : Elements(graph, node.outputs, 0) * (Elements(graph, node.inputs, weights) / filters);
}

// Every output element is a dot product of this length.
uint64_t OfProduct(const Graph& graph, const Node& node, int64_t axis) {
  return Elements(graph, node.outputs, 0) * Dim(graph, node.inputs[0], axis);
}

bool IsSet(const Node& node, const char* attribute) { return node.primitive.GetInt(attribute, 0) != 0; }

}  // namespace

uint64_t MultiplyAdds(const Graph& graph, const Node& node) {
  switch (node.kind()) {
    case OpKind::kCausalConvWithState:
    case OpKind::kConv:
    case OpKind::kConvInteger:
    case OpKind::kMicrosoft_FusedConv: return OfConvolution(graph, node, 1);
    case OpKind::kQLinearConv: return OfConvolution(graph, node, 3);
    case OpKind::kConvTranspose: {  // every input element is spread over one filter
      const uint64_t filters = Dim(graph, node.inputs[1], 0);
      return filters == 0 ? 0 : Elements(graph, node.inputs, 0) * (Elements(graph, node.inputs, 1) / filters);
    }
    case OpKind::kMatMul:
    case OpKind::kMatMulInteger:
    case OpKind::kQLinearMatMul:
    case OpKind::kMicrosoft_DynamicQuantizeMatMul:
    case OpKind::kMicrosoft_MatMulIntegerToFloat:
    case OpKind::kMicrosoft_MatMulNBits: return OfProduct(graph, node, -1);
    case OpKind::kMicrosoft_FusedMatMul:
    case OpKind::kMicrosoft_TransposeMatMul: return OfProduct(graph, node, IsSet(node, "transA") ? -2 : -1);
    case OpKind::kGemm:
    case OpKind::kMicrosoft_FusedGemm:
    case OpKind::kMicrosoft_QGemm: return OfProduct(graph, node, IsSet(node, "transA") ? 0 : 1);
    case OpKind::kLSTM:
    case OpKind::kMicrosoft_DynamicQuantizeLSTM:
    case OpKind::kGRU:
    case OpKind::kRNN: {  // both weight matrices, once per step and batch element
      const uint64_t steps_and_batch = Dim(graph, node.inputs[0], 0) * Dim(graph, node.inputs[0], 1);
      return steps_and_batch * (Elements(graph, node.inputs, 1) + Elements(graph, node.inputs, 2));
    }
    default: return 0;
  }
}

}  // namespace deputy::host
