#include "graph/upgrade/oldest.hpp"

#include <algorithm>
#include <cstddef>

namespace deputy::host {
namespace {

bool HasInput(const Node& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != kNone; }

bool AttributesExist(const OperatorInfo& info, const Node& node, int32_t version) {
  for (const std::string_view name : node.primitive.AttributeNames())
    for (const OperatorAttribute& attribute : info.attributes)
      if (attribute.name == name && (version < attribute.since_version || version >= attribute.until_version))
        return false;
  return true;
}

bool TypeExists(const Graph& graph, const Node& node, const OperatorDefinition& definition) {
  const std::vector<ValueId>& operands = node.inputs.empty() ? node.outputs : node.inputs;
  if (operands.empty() || operands[0] == kNone) return true;
  const DType dtype = graph.values[operands[0]].type.dtype;
  return dtype != DType::kUndefined && (definition.types & Bit(dtype)) != 0;
}

// True when input `i` is left out or known to hold no negative number.
bool NeverNegative(const Graph& graph, const Node& node, size_t i) {
  if (!HasInput(node, i)) return true;
  const Tensor& tensor = graph.values[node.inputs[i]].constant;
  if (tensor.empty()) return false;
  const auto all = [](const auto values) {
    return std::all_of(values.begin(), values.end(), [](auto value) { return value >= 0; });
  };
  if (tensor.dtype() == DType::kInt64) return all(tensor.values<int64_t>());
  return tensor.dtype() == DType::kInt32 && all(tensor.values<int32_t>());
}

bool HasNegativeAxis(const Primitive& primitive) {
  const std::span<const int64_t> axes = primitive.GetInts("axes");
  return primitive.GetInt("axis", 0) < 0 || std::any_of(axes.begin(), axes.end(), [](int64_t a) { return a < 0; });
}

DType TypeOf(const Graph& graph, const Node& node, size_t i) {
  return HasInput(node, i) ? graph.values[node.inputs[i]].type.dtype : DType::kUndefined;
}

// One scale for the whole tensor, as far as is known.
bool OneScale(const Graph& graph, const Node& node) {
  const ValueType& scale = graph.values[node.inputs[1]].type;
  return scale.ranked && scale.dims.empty();
}

// The first definition that has what this node uses, where neither attributes nor the main element type show it.
int32_t FirstWithForm(const Graph& graph, const Node& node) {
  const Primitive& primitive = node.primitive;
  // Opset 11 let axes, and the indices of Gather, count from the end.
  int32_t first = HasNegativeAxis(primitive) ? 11 : 1;
  const auto need = [&first](int32_t version, bool used) { first = used ? std::max(first, version) : first; };
  const auto bf16 = static_cast<int64_t>(DType::kBFloat16);
  switch (node.kind()) {
    case OpKind::kCast:
      need(9, primitive.GetInt("to", 0) == static_cast<int64_t>(DType::kString));
      need(13, primitive.GetInt("to", 0) == bf16);
      break;
    case OpKind::kConstantOfShape: {
      const std::optional<Tensor> value = primitive.GetTensor("value");
      need(20, value && value->dtype() == DType::kBFloat16);
      break;
    }
    case OpKind::kEyeLike: need(22, primitive.GetInt("dtype", 0) == bf16); break;
    case OpKind::kGather: need(11, !NeverNegative(graph, node, 1)); break;
    case OpKind::kGemm: need(11, !HasInput(node, 2)); break;
    case OpKind::kPad:
      need(18, HasInput(node, 3));
      need(19, primitive.GetString("mode", "constant") == "wrap");
      break;
    case OpKind::kQuantizeLinear:
    case OpKind::kDequantizeLinear:
      need(13, !OneScale(graph, node));
      need(19, TypeOf(graph, node, 1) != DType::kFloat32);
      need(21, SizeOf(TypeOf(graph, node, 2)) == 2);
      break;
    case OpKind::kResize:
      need(13, !HasInput(node, 1) || !HasInput(node, 2));
      need(19, primitive.GetString("coordinate_transformation_mode", "") == "half_pixel_symmetric");
      break;
    case OpKind::kScatterElements:
    case OpKind::kScatterND: {
      const std::string_view reduction = primitive.GetString("reduction", "none");
      need(18, reduction == "max" || reduction == "min");
      break;
    }
    case OpKind::kSlice: need(11, !NeverNegative(graph, node, 3)); break;
    case OpKind::kWhere:
      need(16, HasInput(node, 1) && graph.values[node.inputs[1]].type.dtype == DType::kBFloat16);
      break;
    default: break;
  }
  return first;
}

// A definition that changed the meaning, but not for this node.
bool ChangedElsewhere(const Node& node, int32_t version) {
  const size_t outputs = static_cast<size_t>(
      std::count_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != kNone; }));
  if (node.kind() == OpKind::kMaxPool) return version == 8 && outputs == 1;  // the second output came
  if (node.kind() == OpKind::kBatchNormalization)  // training got an attribute; `spatial` went
    return outputs == 1 && node.primitive.GetInt("training_mode", 0) == 0 && (version == 14 || version == 9);
  return false;
}

}  // namespace

int32_t OldestEquivalent(const Graph& graph, const Node& node) {
  const int32_t own = node.primitive.since_version();
  const OperatorInfo* info = InfoOf(node.kind());
  if (info == nullptr) return own;
  const OperatorDefinition* at = info->DefinitionAt(own);
  if (at == nullptr) return own;
  const int32_t first = FirstWithForm(graph, node);
  while (at != info->definitions.data()) {
    const OperatorDefinition& older = *(at - 1);
    if (at->changed && !ChangedElsewhere(node, at->since_version)) break;
    if (older.since_version < first) break;
    if (!AttributesExist(*info, node, older.since_version) || !TypeExists(graph, node, older)) break;
    --at;
  }
  return at->since_version;
}

}  // namespace deputy::host
