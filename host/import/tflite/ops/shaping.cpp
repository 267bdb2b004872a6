// Operators that change the shape or the order of axes.
#include <algorithm>

#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

// Adds the last axis of complex numbers.
Result<ValueId> WithParts(const Operation& op, ValueId shape) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
  if (!info->is_complex) return shape;
  const int64_t parts = 2;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId last, op.emit.Ints({&parts, 1}));
  return op.emit.Emit(OpKind::kConcat, {shape, last}, {{"axis", int64_t{0}}});
}

// Without the last axis of complex numbers.
Result<size_t> RankInFile(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  return rank - (info->is_complex ? 1 : 0);
}

Status ReshapeTo(const Operation& op, ValueId given, bool stored) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, WithParts(op, given));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.tensors.InOrder(op.input(0), stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kReshape, {id, shape}, {{"allowzero", int64_t{1}}}));
  return op.Set(made, stored);
}

}  // namespace

Status Reshape(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  if (op.has_input(1)) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(1)));
    if (rank != 1) return Error(StatusCode::kModel, "the target shape must have rank 1, got {}", rank);
    DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.tensors.Int64s(op.input(1)));
    return ReshapeTo(op, shape, stored);
  }
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::ReshapeOptions>());
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> dims, op.Ints(options->new_shape()));
  if (dims.size() == 1 && dims[0] == 0) dims.clear();  // old converters wrote a scalar like this
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Ints(dims));
  return ReshapeTo(op, shape, stored);
}

Status Squeeze(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::SqueezeOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, op.Ints(options->squeeze_dims()));
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  if (dims.empty()) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kSqueeze, {id}));
    return op.Set(made, stored);
  }
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, RankInFile(op));
  std::vector<size_t> axes;
  for (const int64_t dim : dims) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(dim, rank));
    axes.push_back(axis);
  }
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.LayoutWithout(op.input(0), axes));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, layout));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints(AxesIn(layout, axes)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kSqueeze, {id, list}));
  return op.Set(made, stored);
}

Status ExpandDims(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t given, op.tensors.Int(op.input(1), "axis"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, RankInFile(op));
  DEPUTY_ASSIGN_OR_RETURN(const size_t place, op.Axis(given, rank + 1));
  const auto axis = static_cast<int64_t>(place);
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints({&axis, 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kUnsqueeze, {id, list}));
  return op.Set(made, stored);
}

// A transposition between channels last and channels second moves nothing: the operand is the result in the other
// layout.
Status Transpose(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> perm, op.tensors.Ints(op.input(1), "perm"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  std::vector<uint8_t> seen(rank, 0);
  for (int64_t& entry : perm) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(entry, rank));
    entry = static_cast<int64_t>(axis);
    if (seen[axis]++ != 0) return Error(StatusCode::kModel, "axis {} is repeated", axis);
  }
  if (perm.size() != rank)
    return Error(StatusCode::kModel, "perm has {} entries for an input of rank {}", perm.size(), rank);
  Layout layout = Layout::kFile, made_layout = Layout::kFile;
  if (rank == 4 && std::equal(perm.begin(), perm.end(), kToFile.begin())) {
    made_layout = Layout::kChannelsSecond;
    perm = {0, 1, 2, 3};
  } else if (rank == 4) {
    DEPUTY_ASSIGN_OR_RETURN(const bool as_is, op.tensors.Has(op.input(0), Layout::kFile));
    if (!as_is || std::equal(perm.begin(), perm.end(), kToChannelsSecond.begin())) {
      layout = Layout::kChannelsSecond;
      for (int64_t& axis : perm) axis = AxisIn(layout, static_cast<size_t>(axis));
    }
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, layout));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Transposed(id, perm));
  return op.Set(made, stored, made_layout);
}

Status Pack(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::PackOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t place, op.Axis(options->axis(), rank + 1));
  const auto axis = static_cast<int64_t>(place);
  bool stored = true;
  for (const TensorIndex input : op.inputs()) {
    DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(input, op.output()));
    stored = stored && alike;
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&axis, 1}));
  std::vector<ValueId> rows;
  for (size_t i = 0; i < op.input_count(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(i, stored));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId row, op.emit.Emit(OpKind::kUnsqueeze, {id, axes}));
    rows.push_back(row);
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kConcat, std::move(rows), {{"axis", axis}}));
  return op.Set(made, stored);
}

Status Concatenation(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::ConcatenationOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(options->axis(), rank));
  bool stored = options->activation() == fb::Activation_NONE;
  for (const TensorIndex input : op.inputs()) {
    DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(input, op.output()));
    stored = stored && alike;
  }
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.CommonLayout(op.inputs()));
  std::vector<ValueId> parts;
  for (size_t i = 0; i < op.input_count(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(i, stored, layout));
    parts.push_back(id);
  }
  DEPUTY_ASSIGN_OR_RETURN(ValueId made,
                          op.emit.Emit(OpKind::kConcat, std::move(parts), {{"axis", AxisIn(layout, axis)}}));
  DEPUTY_ASSIGN_OR_RETURN(made, op.Activated(made, options->activation()));
  return op.Set(made, stored, layout);
}

// In the order of the file's axes, from either form.
Status ShapeOf(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.CommonLayout(op.inputs()));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, true, layout));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.emit.Emit(OpKind::kShape, {id}));
  if (layout != Layout::kFile) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId places, op.emit.Ints(kToFile));
    DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kGather, {made, places}));
  }
  DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Cast(made, info->dtype));
  return op.Set(made, true);
}

Status RankOf(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Number(static_cast<double>(rank), DType::kInt32));
  return op.Set(made, true);
}

Status ImportMoved(const Operation& op, OpKind kind, size_t data, size_t how) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(data), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(data, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId numbers, op.tensors.Int64s(op.input(how)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(kind, {id, numbers}));
  return op.Set(made, stored);
}

Status Tile(const Operation& op) { return ImportMoved(op, OpKind::kTile, 0, 1); }
Status BroadcastTo(const Operation& op) { return ImportMoved(op, OpKind::kExpand, 0, 1); }
Status Fill(const Operation& op) { return ImportMoved(op, OpKind::kExpand, 1, 0); }

Status ZerosLike(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, true));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Emit(OpKind::kShape, {id}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId zero, op.emit.Number(0, op.emit.TypeOf(id).dtype));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kExpand, {zero, shape}));
  return op.Set(made, true);
}

Status Range(const Operation& op) {
  std::vector<ValueId> bounds;
  for (size_t i = 0; i < 3; ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(i, true));
    bounds.push_back(id);
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kRange, std::move(bounds)));
  return op.Set(made, true);
}

}  // namespace deputy::host::tflite_import
