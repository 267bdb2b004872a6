// Operators that select elements by index or compute indexes.
#include <array>

#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {

Status Gather(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::GatherOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(options->axis(), rank));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId indices, op.Operand(1, true));
  if (options->batch_dims() == 0) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId made,
                            op.emit.Emit(OpKind::kGather, {id, indices}, {{"axis", static_cast<int64_t>(axis)}}));
    return op.Set(made, stored);
  }
  DEPUTY_ASSIGN_OR_RETURN(const size_t index_rank, op.tensors.Rank(op.input(1)));
  // Unlike an axis, it counts from after the last dimension.
  const int64_t dims = options->batch_dims(), batches = dims < 0 ? dims + static_cast<int64_t>(index_rank) : dims;
  if (batches < 0 || batches > static_cast<int64_t>(index_rank))
    return Error(StatusCode::kModel, "batch_dims {} is out of range for indices of rank {}", dims, index_rank);
  const auto batch = static_cast<size_t>(batches);
  if (batch != axis)
    return Error(StatusCode::kNotSupported, "axis ({}) that differs from batch_dims ({}) is not supported", axis,
                 batch);
  const int64_t last = -1;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&last, 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId wide, op.emit.Cast(indices, DType::kInt64));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId tuples, op.emit.Emit(OpKind::kUnsqueeze, {wide, axes}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made,
                          op.emit.Emit(OpKind::kGatherND, {id, tuples}, {{"batch_dims", static_cast<int64_t>(batch)}}));
  return op.Set(made, stored);
}

Status EmbeddingLookup(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(1), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId rows, op.Operand(1, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId indices, op.Operand(0, true));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kGather, {rows, indices}));
  return op.Set(made, stored);
}

Status GatherNd(const Operation& op) { return ImportMoved(op, OpKind::kGatherND, 0, 1); }

// Updates of the same element add up.
Status ScatterNd(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId indices, op.tensors.Int64s(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId updates, op.Operand(1, true));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.tensors.Int64s(op.input(2)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId zero, op.emit.Number(0, op.emit.TypeOf(updates).dtype));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId zeros, op.emit.Emit(OpKind::kExpand, {zero, shape}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kScatterND, {zeros, indices, updates},
                                                           {{"reduction", std::string("add")}}));
  return op.Set(made, true);
}

Status OneHot(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::AxisOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const ValueId indices, op.Operand(0, true));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId depth, op.tensors.Int64s(op.input(1)));
  // A negative index selects nothing, but ONNX counts it from the end; the depth itself selects nothing either.
  DEPUTY_ASSIGN_OR_RETURN(const ValueId wide, op.emit.Cast(indices, DType::kInt64));
  const int64_t none = 0;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId zero, op.emit.Ints({&none, 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId below, op.emit.Emit(OpKind::kLess, {wide, zero}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId places, op.emit.Emit(OpKind::kWhere, {below, depth, wide}));
  const int64_t first = 0;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&first, 1}));
  std::vector<ValueId> pair;
  for (const size_t i : {size_t{3}, size_t{2}}) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId value, op.Operand(i, true));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId row, op.emit.Emit(OpKind::kUnsqueeze, {value, axes}));
    pair.push_back(row);
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId values, op.emit.Emit(OpKind::kConcat, std::move(pair), {{"axis", int64_t{0}}}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made,
                          op.emit.Emit(OpKind::kOneHot, {places, depth, values}, {{"axis", int64_t{options->axis()}}}));
  return op.Set(made, true);
}

// A row for each element that is not zero.
Status Where(const Operation& op) {
  constexpr std::array<int64_t, 2> kSwapped{1, 0};
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, true));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId places, op.emit.Emit(OpKind::kNonZero, {id}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Transposed(places, kSwapped));
  return op.Set(made, true);
}

Status TopK(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.output(1)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId count, op.tensors.Int64s(op.input(1)));
  const int64_t one = 1;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Ints({&one, 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId k, op.emit.Emit(OpKind::kReshape, {count, shape}));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<ValueId> made, op.emit.EmitMany(OpKind::kTopK, {id, k}, 2));
  DEPUTY_RETURN_IF_ERROR(op.Set(made[0], stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId indices, op.emit.Cast(made[1], info->dtype));
  return op.Set(indices, true, Layout::kFile, 1);
}

}  // namespace deputy::host::tflite_import
