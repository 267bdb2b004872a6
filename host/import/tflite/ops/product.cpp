// Products of matrices.
#include <array>

#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr std::array<int64_t, 2> kAsIs{0, 1}, kSwapped{1, 0};

// Exchanges the last two axes.
Result<ValueId> Adjoint(const Operation& op, ValueId id) {
  const size_t rank = op.emit.RankOf(id);
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  if (rank < 2) return Error(StatusCode::kModel, "operand has rank {}, expected at least 2", rank);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return op.emit.Transposed(id, perm);
}

// Rows of `depth` elements, for an input of any shape.
Result<ValueId> Rows(const Operation& op, ValueId id, int64_t depth) {
  const std::vector<int64_t>& dims = op.emit.DimsOf(id);
  if (dims.size() == 2 && (dims[1] == depth || dims[1] < 0)) return id;
  const std::array<int64_t, 2> shape{-1, depth};
  DEPUTY_ASSIGN_OR_RETURN(const ValueId target, op.emit.Ints(shape));
  return op.emit.Emit(OpKind::kReshape, {id, target});
}

}  // namespace

Status FullyConnected(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::FullyConnectedOptions>());
  if (options->weights_format() != 0) return Error(StatusCode::kNotSupported, "shuffled weights are not supported");
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  const bool keeps = options->keep_num_dims() && rank != 2;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId weights, op.tensors.Weights(op.input(1), keeps ? kSwapped : kAsIs));
  const int64_t depth = op.emit.DimsOf(weights)[keeps ? 0 : 1], channels = op.emit.DimsOf(weights)[keeps ? 1 : 0];
  if (depth < 1 || channels < 1)
    return Error(StatusCode::kNotSupported, "weights with dynamic extents are not supported");
  DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, ImportBias(op, {0, 1, 2}, channels));
  ValueId made = kNone;
  if (keeps) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId input, op.Operand(0, false));
    DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kMatMul, {input, weights}));
    if (bias != kNone) {
      DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kAdd, {made, bias}));
    }
  } else {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId input, op.tensors.InOrder(op.input(0), false));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId rows, Rows(op, input, depth));
    DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kGemm, {rows, weights, bias}, {{"transB", int64_t{1}}}));
  }
  DEPUTY_ASSIGN_OR_RETURN(made, op.Activated(made, options->activation()));
  return op.Set(made, false);
}

Status BatchMatMul(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::BatchMatMulOptions>());
  DEPUTY_ASSIGN_OR_RETURN(ValueId a, op.Operand(0, false));
  DEPUTY_ASSIGN_OR_RETURN(ValueId b, op.Operand(1, false));
  if (options->adj_x()) {
    DEPUTY_ASSIGN_OR_RETURN(a, Adjoint(op, a));
  }
  if (options->adj_y()) {
    DEPUTY_ASSIGN_OR_RETURN(b, Adjoint(op, b));
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kMatMul, {a, b}));
  return op.Set(made, false);
}

}  // namespace deputy::host::tflite_import
