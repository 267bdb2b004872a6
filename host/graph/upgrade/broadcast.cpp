// Rules for broadcasting before opset 7, which began at an axis of the first operand; the new one aligns the ends.
#include <algorithm>
#include <utility>

#include "graph/inference/operands.hpp"
#include "graph/upgrade/rewrite.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// Gives input 1 so many axes of extent 1 at its end that broadcasting finds the others from `axis` of input 0 on.
Status AlignFrom(NodeRewrite& node, int64_t axis, std::string_view name) {
  const ValueType a = node.input_type(0), b = node.input_type(1);
  if (!a.ranked || !b.ranked)
    return Error(StatusCode::kNotSupported,
                 "{} version {} with axis {}, which opset 7 removed, is not supported for operands of unknown rank",
                 node.primitive().op_type(), node.version(), axis);
  const int64_t rank = static_cast<int64_t>(b.dims.size());
  const int64_t latest = static_cast<int64_t>(a.dims.size()) - rank;
  if (axis < 0 || axis > latest)
    return Error(StatusCode::kModel, "operands of rank {} and {} cannot be broadcast from axis {}", a.dims.size(), rank,
                 axis);
  const int64_t behind = latest - axis;
  if (behind == 0) return {};
  if (const Tensor* constant = node.constant(1)) {
    Shape shape = constant->shape();
    shape.resize(shape.size() + static_cast<size_t>(behind), 1);
    DEPUTY_ASSIGN_OR_RETURN(Tensor reshaped, Tensor::Wrap(constant->dtype(), shape, const_cast<void*>(constant->data()),
                                                          constant->byte_size(), constant->owner()));
    node.SetConstant(1, name, std::move(reshaped));
    return {};
  }
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < behind; ++i) axes.push_back(rank + i);
  DEPUTY_ASSIGN_OR_RETURN(Tensor added, Tensor::FromValues<int64_t>(DType::kInt64, {behind}, axes));
  const ValueId list = node.AddConstant("axes", std::move(added));
  node.SetInput(1, node.AddBefore(name, PrimitiveBuilder("", "Unsqueeze", 13), {node.input(1), list}));
  return {};
}

// What definition 6 allows: operands of one shape, and with `broadcast` a second one whose extents are some of the
// first one's.
Status CheckOperands(const NodeRewrite& node, bool broadcasts) {
  const ValueType a = node.input_type(0), b = node.input_type(1);
  if (!a.ranked || !b.ranked) return {};
  if (!broadcasts && !std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), MayEqual))
    return Error(StatusCode::kModel,
                 "operands of {}-{} without attribute 'broadcast' must have one shape, got {} and {}",
                 node.primitive().op_type(), node.version(), ShapeToString(a.dims), ShapeToString(b.dims));
  if (broadcasts && b.dims.size() > a.dims.size())
    return Error(StatusCode::kModel, "{}-{} broadcasts its second operand only, got {} and {}",
                 node.primitive().op_type(), node.version(), ShapeToString(a.dims), ShapeToString(b.dims));
  return {};
}

}  // namespace

// Add-6 and similar ones (broadcast, axis) to 7. Without an axis the ends were aligned then too.
Status UpgradeBroadcast(NodeRewrite& node) {
  const Primitive before = node.primitive();
  const int64_t axis = before.GetInt("axis", -1);
  const bool broadcasts = before.GetInt("broadcast", 0) != 0;
  DEPUTY_RETURN_IF_ERROR(CheckOperands(node, broadcasts));
  if (broadcasts && axis != -1) DEPUTY_RETURN_IF_ERROR(AlignFrom(node, axis, "operand"));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("broadcast").Remove("axis").SetVersion(7));
  return {};
}

// PRelu-6, whose slope is one number or one per channel, to 7, whose slope is broadcast.
Status UpgradePRelu(NodeRewrite& node) {
  const ValueType input = node.input_type(0), slope = node.input_type(1);
  const bool one =
      slope.is_static() && std::all_of(slope.dims.begin(), slope.dims.end(), [](int64_t d) { return d == 1; });
  const bool same = input.ranked && input.dims.size() <= 2;  // the channels are last anyway
  if (!one && !same) {
    if (slope.ranked && slope.dims.size() != 1)
      return Error(StatusCode::kModel, "slope has rank {}, expected 1", slope.dims.size());
    DEPUTY_RETURN_IF_ERROR(AlignFrom(node, 1, "slope"));
  }
  node.SetVersion(7);
  return {};
}

}  // namespace deputy::host
