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

}  // namespace

uint64_t MultiplyAdds(const Graph& graph, const Node& node) {
  switch (node.kind()) {
    case OpKind::kConv: {  // every output element is a dot product over one filter
      const uint64_t filters = Dim(graph, node.inputs[1], 0);
      return filters == 0 ? 0 : Elements(graph, node.outputs, 0) * (Elements(graph, node.inputs, 1) / filters);
    }
    case OpKind::kConvTranspose: {  // every input element is spread over one filter
      const uint64_t filters = Dim(graph, node.inputs[1], 0);
      return filters == 0 ? 0 : Elements(graph, node.inputs, 0) * (Elements(graph, node.inputs, 1) / filters);
    }
    case OpKind::kMatMul: return Elements(graph, node.outputs, 0) * Dim(graph, node.inputs[0], -1);
    case OpKind::kGemm:
      return Elements(graph, node.outputs, 0) *
             Dim(graph, node.inputs[0], node.primitive.GetInt("transA", 0) != 0 ? 0 : 1);
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
