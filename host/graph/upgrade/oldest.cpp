#include <algorithm>
#include <climits>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/upgrade/rewrite.hpp"
#include "graph/upgrade/upgrade.hpp"

namespace deputy::host {
namespace {

bool ReadsInput(const Node& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != kNone; }

// Whether the list's default only fills its column: without the attribute the node means something else, or nothing.
bool HasNoDefault(const Primitive& primitive, std::string_view attribute) {
  switch (primitive.kind()) {
    case OpKind::kCast: return attribute == "to";
    case OpKind::kConstant: return true;                     // one of its attributes is the value
    case OpKind::kDropout: return attribute == "seed";       // without it: another one in each run
    case OpKind::kShape: return attribute == "end";          // without it: the rank
    case OpKind::kSplit: return attribute == "num_outputs";  // without it: sizes
    default: return false;
  }
}

// An attribute that holds its default; exporters write many.
bool IsDefault(const Primitive& primitive, const OperatorAttribute& attribute) {
  if (HasNoDefault(primitive, attribute.name)) return false;
  if (attribute.default_int) return primitive.GetInt(attribute.name, *attribute.default_int) == *attribute.default_int;
  if (attribute.default_text)
    return primitive.GetString(attribute.name, *attribute.default_text) == *attribute.default_text;
  const std::span<const int64_t> ints = primitive.GetInts(attribute.name);
  return attribute.name == "dilations" && std::all_of(ints.begin(), ints.end(), [](int64_t d) { return d == 1; });
}

// Whether a definition has every attribute that the node needs, or lacks it and means its default.
bool AttributesExist(const OperatorInfo& info, const Node& node, int32_t version) {
  const int32_t own = node.primitive.since_version();
  for (const std::string_view name : node.primitive.AttributeNames())
    for (const OperatorAttribute& attribute : info.attributes) {
      // An attribute whose kind changed has a row per kind.
      if (attribute.name != name || !attribute.IsIn(own)) continue;
      if (version >= attribute.until_version) return false;
      if (version < attribute.since_version && !IsDefault(node.primitive, attribute)) return false;
    }
  return true;
}

bool TypeExists(const Graph& graph, const Node& node, const OperatorDefinition& definition) {
  const std::vector<ValueId>& operands = node.inputs.empty() ? node.outputs : node.inputs;
  if (operands.empty() || operands[0] == kNone) return true;
  const DType dtype = graph.values[operands[0]].type.dtype;
  return dtype != DType::kUndefined && (definition.types & Bit(dtype)) != 0;
}

// True when input `i` is omitted or known to hold no negative number.
bool NeverNegative(const Graph& graph, const Node& node, size_t i) {
  if (!ReadsInput(node, i)) return true;
  const Tensor& tensor = graph.values[node.inputs[i]].constant;
  return KnownNotNegative(tensor.empty() ? nullptr : &tensor);
}

bool HasNegativeAxis(const Primitive& primitive) {
  const std::span<const int64_t> axes = primitive.GetInts("axes");
  return primitive.GetInt("axis", 0) < 0 || std::any_of(axes.begin(), axes.end(), [](int64_t a) { return a < 0; });
}

DType TypeOf(const Graph& graph, const Node& node, size_t i) {
  return ReadsInput(node, i) ? graph.values[node.inputs[i]].type.dtype : DType::kUndefined;
}

// One scale for the whole tensor, as far as is known.
bool OneScale(const Graph& graph, const Node& node) {
  if (!ReadsInput(node, 1)) return false;
  const ValueType& scale = graph.values[node.inputs[1]].type;
  return scale.ranked && scale.dims.empty();
}

// The opset that added a storage type, which is that of the Cast that accepts it; 1 for every other type.
int32_t FirstWithStorage(DType dtype) {
  if (!IsStorage(dtype)) return 1;
  const auto definitions = InfoOf(OpKind::kCast)->definitions;
  const auto first = std::find_if(definitions.begin(), definitions.end(),
                                  [dtype](const OperatorDefinition& it) { return (it.types & Bit(dtype)) != 0; });
  return first == definitions.end() ? INT32_MAX : first->since_version;
}

// A mask of one key was broadcast to all keys before it was padded.
bool MayHideAllKeysButOne(const Graph& graph, const Node& node) {
  if (node.primitive.since_version() < 24 || !ReadsInput(node, 3)) return false;
  const ValueType& mask = graph.values[node.inputs[3]].type;
  return !mask.ranked || mask.dims.empty() || mask.dims.back() == 1 || mask.dims.back() < 0;
}

// The first definition with the features that this node uses, where neither attributes nor the main type show it.
int32_t FirstWithForm(const Graph& graph, const Node& node) {
  const Primitive& primitive = node.primitive;
  // Opset 11 let axes, and the indices of Gather, count from the end.
  int32_t first = HasNegativeAxis(primitive) ? 11 : 1;
  const auto need = [&first](int32_t version, bool used) { first = used ? std::max(first, version) : first; };
  const auto bf16 = static_cast<int64_t>(DType::kBFloat16);
  switch (node.kind()) {
    case OpKind::kAttention: need(24, ReadsInput(node, 6) || MayHideAllKeysButOne(graph, node)); break;
    case OpKind::kBatchNormalization:  // parameters of a different type
      need(14, TypeOf(graph, node, 3) != TypeOf(graph, node, 0));
      need(15, TypeOf(graph, node, 1) != TypeOf(graph, node, 0));
      break;
    case OpKind::kCast:
      need(9, primitive.GetInt("to", 0) == static_cast<int64_t>(DType::kString));
      need(13, primitive.GetInt("to", 0) == bf16);
      first = std::max(first, FirstWithStorage(static_cast<DType>(primitive.GetInt("to", 0))));
      break;
    case OpKind::kCastLike: first = std::max(first, FirstWithStorage(TypeOf(graph, node, 1))); break;
    case OpKind::kConstantOfShape: {
      const std::optional<Tensor> value = primitive.GetTensor("value");
      need(20, value && (value->dtype() == DType::kBFloat16 || IsStorage(value->dtype())));
      if (value) first = std::max(first, FirstWithStorage(value->dtype()));
      break;
    }
    case OpKind::kEyeLike: need(22, primitive.GetInt("dtype", 0) == bf16); break;
    case OpKind::kGather: need(11, !NeverNegative(graph, node, 1)); break;
    case OpKind::kGemm: need(11, !ReadsInput(node, 2)); break;
    // The modes were renamed.
    case OpKind::kGridSample: need(20, primitive.since_version() >= 20); break;
    case OpKind::kMod: {  // of floats, with the sign of the divisor
      const DType dtype = TypeOf(graph, node, 0);
      const bool integer = dtype == DType::kUndefined || (dtype >= DType::kUint8 && dtype <= DType::kInt64) ||
                           dtype == DType::kUint32 || dtype == DType::kUint64;
      need(28, !integer && primitive.GetInt("fmod", 0) == 0);
      break;
    }
    case OpKind::kOneHot: need(28, TypeOf(graph, node, 2) == DType::kBFloat16); break;
    case OpKind::kPad:
      need(18, ReadsInput(node, 3));
      need(19, primitive.GetString("mode", "constant") == "wrap");
      break;
    case OpKind::kQLinearMatMul: need(21, TypeOf(graph, node, 1) != DType::kFloat32); break;
    case OpKind::kQuantizeLinear:
    case OpKind::kDequantizeLinear:
      need(13, !OneScale(graph, node));
      need(19, TypeOf(graph, node, 1) != DType::kFloat32);
      need(21, SizeOf(TypeOf(graph, node, 2)) == 2);
      first = std::max({first, FirstWithStorage(TypeOf(graph, node, 2)),
                        FirstWithStorage(static_cast<DType>(primitive.GetInt("output_dtype", 0)))});
      break;
    case OpKind::kResize:
      need(13, !ReadsInput(node, 1) || !ReadsInput(node, 2));
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
      need(16, ReadsInput(node, 1) && graph.values[node.inputs[1]].type.dtype == DType::kBFloat16);
      break;
    default: break;
  }
  return first;
}

// Whether the axis is given and is the last one: then flattening the axes after it changes nothing.
bool NamesLastAxis(const Graph& graph, const Node& node) {
  if (!node.primitive.Has("axis")) return false;
  const int64_t axis = node.primitive.GetInt("axis", 0);
  const ValueType& input = graph.values[node.inputs[0]].type;
  return axis == -1 || (input.ranked && axis == static_cast<int64_t>(input.dims.size()) - 1);
}

// A definition that changed the meaning, but not for this node.
bool ChangedElsewhere(const Graph& graph, const Node& node, int32_t version) {
  const Primitive& primitive = node.primitive;
  const auto outputs = std::count_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != kNone; });
  switch (node.kind()) {
    case OpKind::kBatchNormalization:  // training became an attribute; `spatial` was removed
      return outputs == 1 && primitive.GetInt("training_mode", 0) == 0 && (version == 14 || version == 9);
    case OpKind::kClip: return version == 11 && !ReadsInput(node, 1) && !ReadsInput(node, 2);
    case OpKind::kDropout:  // the mask became bool; the ratio became an input
      return (version == 10 && outputs == 1) || (version == 12 && !ReadsInput(node, 1) && !ReadsInput(node, 2));
    case OpKind::kHardmax:
    case OpKind::kLogSoftmax:
    case OpKind::kSoftmax: return version == 13 && NamesLastAxis(graph, node);
    case OpKind::kMaxPool: return version == 8 && outputs == 1;  // adds the second output
    case OpKind::kOneHot: return version == 11 && NeverNegative(graph, node, 0);
    case OpKind::kPow: return version == 12 && TypeOf(graph, node, 0) == TypeOf(graph, node, 1);
    case OpKind::kReduceL1:
    case OpKind::kReduceL2:
    case OpKind::kReduceLogSum:
    case OpKind::kReduceLogSumExp:
    case OpKind::kReduceMax:
    case OpKind::kReduceMean:
    case OpKind::kReduceMin:
    case OpKind::kReduceProd:
    case OpKind::kReduceSum:
    case OpKind::kReduceSumSquare:  // without axes: all of them, then as before
    case OpKind::kSplit:            // without sizes: equal parts, then as before
    case OpKind::kSqueeze:          // without axes: all of extent 1, then as before
      return version >= 13 && !ReadsInput(node, 1) && primitive.GetInt("noop_with_empty_axes", 0) == 0;
    default: return false;
  }
}

// Whether a definition later than the operator's first added the attribute, and the node gives it its default.
bool IsAddedDefault(const OperatorInfo& info, const Primitive& primitive, std::string_view name) {
  return std::any_of(info.attributes.begin(), info.attributes.end(), [&](const OperatorAttribute& attribute) {
    return attribute.name == name && attribute.IsIn(primitive.since_version()) &&
           attribute.since_version > info.definitions.front().since_version && IsDefault(primitive, attribute);
  });
}

bool HasAddedDefaults(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const OperatorInfo* info = InfoOf(node.kind());
    const std::vector<std::string_view> names = node.primitive.AttributeNames();
    return (info != nullptr &&
            std::any_of(names.begin(), names.end(),
                        [&](std::string_view name) { return IsAddedDefault(*info, node.primitive, name); })) ||
           std::any_of(node.regions.begin(), node.regions.end(),
                       [](const Region& region) { return HasAddedDefaults(*region.body); });
  });
}

}  // namespace

void DropAddedDefaults(Graph& graph) {
  for (Node& node : graph.nodes) {
    for (Region& region : node.regions) {
      if (!HasAddedDefaults(*region.body)) continue;
      auto body = std::make_shared<Graph>(*region.body);  // copies of the node share the old one
      DropAddedDefaults(*body);
      region.body = std::move(body);
    }
    const OperatorInfo* info = InfoOf(node.kind());
    if (info == nullptr) continue;
    std::vector<std::string_view> added = node.primitive.AttributeNames();
    std::erase_if(added, [&](std::string_view name) { return !IsAddedDefault(*info, node.primitive, name); });
    if (added.empty()) continue;
    PrimitiveBuilder builder(node.primitive);
    for (const std::string_view name : added) builder.Remove(name);
    node.primitive = builder.Finish();
  }
}

int32_t OldestEquivalent(const Graph& graph, const Node& node) {
  const int32_t own = node.primitive.since_version();
  const OperatorInfo* info = InfoOf(node.kind());
  if (info == nullptr) return own;
  const OperatorDefinition* at = info->DefinitionAt(own);
  if (at == nullptr) return own;
  // A model of an old opset may use an element type that a later definition added.
  const OperatorDefinition* const newest = &info->definitions.back();
  while (at != newest && !TypeExists(graph, node, *at) && !(at + 1)->changed) ++at;
  const int32_t first = FirstWithForm(graph, node);
  while (at != info->definitions.data()) {
    const OperatorDefinition& older = *(at - 1);
    if (at->changed && !ChangedElsewhere(graph, node, at->since_version)) break;
    if (older.since_version < first) break;
    if (!AttributesExist(*info, node, older.since_version) || !TypeExists(graph, node, older)) break;
    --at;
  }
  return at->since_version;
}

}  // namespace deputy::host
