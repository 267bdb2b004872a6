// Rules for definitions before opset 7: in-place hints, names of types, removed defaults.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "graph/inference/operands.hpp"
#include "graph/upgrade/rewrite.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

// A hint about memory that no runtime may rely on; opset 6 dropped it everywhere.
Status DropConsumedInputs(NodeRewrite& node) {
  if (!node.primitive().Has("consumed_inputs")) return {};
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("consumed_inputs").SetVersion(6));
  return {};
}

// Cast-1, whose target is a word, to Cast-6, where it is a number.
Status UpgradeCast(NodeRewrite& node) {
  static constexpr std::pair<std::string_view, DType> kWords[] = {
      {"FLOAT", DType::kFloat32},   {"UINT8", DType::kUint8},      {"INT8", DType::kInt8},
      {"UINT16", DType::kUint16},   {"INT16", DType::kInt16},      {"INT32", DType::kInt32},
      {"INT64", DType::kInt64},     {"STRING", DType::kString},    {"BOOL", DType::kBool},
      {"FLOAT16", DType::kFloat16}, {"DOUBLE", DType::kFloat64},   {"UINT32", DType::kUint32},
      {"UINT64", DType::kUint64},   {"BFLOAT16", DType::kBFloat16}};
  const std::string_view to = node.primitive().GetString("to", "");
  const auto* word =
      std::find_if(std::begin(kWords), std::end(kWords), [to](const auto& it) { return it.first == to; });
  if (word == std::end(kWords)) return Error(StatusCode::kModel, "'{}' is not an element type", to);
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Set("to", static_cast<int64_t>(word->second)).SetVersion(6));
  return {};
}

// Concat-1 has a default axis, Concat-4 none.
Status UpgradeConcat(NodeRewrite& node) {
  if (node.primitive().Has("axis")) return {};
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Set("axis", int64_t{1}).SetVersion(4));
  return {};
}

// Gemm-6, which broadcasts C only with the attribute, to 7, which always does.
Status UpgradeGemm(NodeRewrite& node) {
  const Primitive& before = node.primitive();
  const ValueType a = node.input_type(0), b = node.input_type(1), c = node.input_type(2);
  if (before.GetInt("broadcast", 0) == 0 && a.ranked && b.ranked && c.ranked && a.dims.size() == 2 &&
      b.dims.size() == 2) {
    const int64_t product[] = {a.dims[before.GetInt("transA", 0) != 0 ? 1 : 0],
                               b.dims[before.GetInt("transB", 0) != 0 ? 0 : 1]};
    if (!std::equal(c.dims.begin(), c.dims.end(), std::begin(product), std::end(product), MayEqual))
      return Error(StatusCode::kModel, "C of {}-{} without attribute 'broadcast' must have the shape {}, got {}",
                   before.op_type(), node.version(), ShapeToString(product), ShapeToString(c.dims));
  }
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("broadcast").SetVersion(7));
  return {};
}

// Since opset 7 the node's outputs show whether the sequence is needed.
Status UpgradeRecurrent(NodeRewrite& node) {
  const int32_t version = node.kind() == OpKind::kGRU && node.version() < 3 ? 3 : 7;
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("output_sequence").SetVersion(version));
  return {};
}

// Selu-1 has other digits of its constants than Selu-6.
Status UpgradeSelu(NodeRewrite& node) {
  const Primitive before = node.primitive();
  node.SetPrimitive(PrimitiveBuilder(before)
                        .Remove("consumed_inputs")
                        .Set("alpha", before.GetFloat("alpha", 1.6732f))
                        .Set("gamma", before.GetFloat("gamma", 1.0507f))
                        .SetVersion(6));
  return {};
}

namespace {

// The number in a constant of one element; Tile-1 keeps whole numbers in the type of its input.
std::optional<int64_t> WholeNumber(const Tensor* tensor) {
  if (tensor == nullptr || tensor->element_count() != 1) return std::nullopt;
  switch (tensor->dtype()) {
    case DType::kInt64: return tensor->values<int64_t>()[0];
    case DType::kInt32: return tensor->values<int32_t>()[0];
    case DType::kFloat32: {
      const float number = tensor->values<float>()[0];
      const bool whole =
          number >= -0x1p31f && number <= 0x1p31f && static_cast<float>(static_cast<int64_t>(number)) == number;
      return whole ? std::optional<int64_t>(static_cast<int64_t>(number)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace

// For tiles or an axis that are known only in the run: repeats = positions == positions[axis] ? tiles : 1, where an
// axis that is out of range, negative ones included, ends the run.
Status ComputeRepeats(NodeRewrite& node, int64_t rank) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < rank; ++i) numbers.push_back(i);
  DEPUTY_ASSIGN_OR_RETURN(Tensor positions, Tensor::FromValues<int64_t>(DType::kInt64, {rank}, numbers));
  DEPUTY_ASSIGN_OR_RETURN(Tensor once, Tensor::FromValues<int64_t>(DType::kInt64, {}, std::array<int64_t, 1>{1}));
  const ValueId all = node.AddConstant("axes", std::move(positions)), one = node.AddConstant("once", std::move(once));
  const auto whole = [&](const char* name, size_t i) {
    const auto to = static_cast<int64_t>(DType::kInt64);
    return node.AddBefore(name, PrimitiveBuilder("", "Cast", 13).Set("to", to), {node.input(i)});
  };
  const ValueId tiles = whole("tiles", 1), axis = whole("axis", 2);
  DEPUTY_ASSIGN_OR_RETURN(Tensor first, Tensor::FromValues<int64_t>(DType::kInt64, {}, std::array<int64_t, 1>{0}));
  DEPUTY_ASSIGN_OR_RETURN(Tensor beyond, Tensor::FromValues<int64_t>(DType::kInt64, {}, std::array<int64_t, 1>{rank}));
  const ValueId negative = node.AddBefore("negative", PrimitiveBuilder("", "Less", 13),
                                          {axis, node.AddConstant("first_axis", std::move(first))});
  const ValueId index = node.AddBefore("index", PrimitiveBuilder("", "Where", 16),
                                       {negative, node.AddConstant("rank", std::move(beyond)), axis});
  const ValueId position = node.AddBefore("axis_of_tiles", PrimitiveBuilder("", "Gather", 13), {all, index});
  const ValueId named = node.AddBefore("named", PrimitiveBuilder("", "Equal", 13), {all, position});
  node.SetInput(1, node.AddBefore("repeats", PrimitiveBuilder("", "Where", 16), {named, tiles, one}));
  return {};
}

// Tile-1 (tiles along one axis) to Tile-6 (repeats along each).
Status UpgradeTile(NodeRewrite& node) {
  const ValueType input = node.input_type(0);
  const std::optional<int64_t> tiles = WholeNumber(node.constant(1)), axis = WholeNumber(node.constant(2));
  const int64_t rank = static_cast<int64_t>(input.dims.size());
  if (!input.ranked)
    return Error(StatusCode::kNotSupported,
                 "Tile version 1, which opset 6 removed, is not supported for an input of unknown rank");
  if (!tiles || !axis) {
    DEPUTY_RETURN_IF_ERROR(ComputeRepeats(node, rank));
    node.SetInput(2, kNone);
    node.SetVersion(6);
    return {};
  }
  if (*axis < 0 || *axis >= rank)
    return Error(StatusCode::kModel, "axis {} is out of range for an input of rank {}", *axis, rank);
  std::vector<int64_t> repeats(input.dims.size(), 1);
  repeats[static_cast<size_t>(*axis)] = *tiles;
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "repeats", repeats));
  node.SetInput(2, kNone);
  node.SetVersion(6);
  return {};
}

// LpPool-1 had a power of any size.
Status UpgradePower(NodeRewrite& node) {
  const float power = node.primitive().GetFloat("p", 2);
  if (!(power >= 1 && power <= 1e6f) || power != std::floor(power))
    return Error(StatusCode::kNotSupported, "{} version {} with p={} is not supported: since version 2 p is an integer",
                 node.primitive().op_type(), node.version(), power);
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Set("p", static_cast<int64_t>(power)).SetVersion(2));
  return {};
}

}  // namespace deputy::host
