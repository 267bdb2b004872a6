// Complex numbers: the last axis of a value holds real and imaginary parts.
#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

Result<ValueId> Part(const Operation& op, int64_t part) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
  if (!info->is_complex) return Error(StatusCode::kModel, "input must have complex elements");
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, true));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId index, op.emit.Int(part));
  return op.emit.Emit(OpKind::kGather, {id, index}, {{"axis", int64_t{-1}}});
}

// The signal along `axis`, counted from the back without the axis of complex numbers, cut or padded with zeros to this
// length.
Result<ValueId> Transformed(const Operation& op, ValueId signal, int64_t length, int64_t axis, bool onesided) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId count, op.emit.Int(length));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId place, op.emit.Int(axis));
  return op.emit.Emit(OpKind::kDFT, {signal, count, place}, {{"onesided", int64_t{onesided}}});
}

}  // namespace

Status Rfft2d(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, op.tensors.Ints(op.input(1), "fft_length"));
  if (rank < 2 || lengths.size() != 2 || lengths[0] < 1 || lengths[1] < 1 || !info->is_complex)
    return Error(StatusCode::kModel,
                 "expected an input of rank 2 or more, 2 positive values of fft_length and a complex output, got rank "
                 "{} and {} values",
                 rank, lengths.size());
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, false));
  const int64_t last = -1;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&last, 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId signal, op.emit.Emit(OpKind::kUnsqueeze, {id, axes}));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, Transformed(op, signal, lengths[1], -2, true));
  if (lengths[0] != 1 || op.emit.DimsOf(made)[rank - 2] != 1) {
    DEPUTY_ASSIGN_OR_RETURN(made, Transformed(op, made, lengths[0], -3, false));
  }
  return op.Set(made, true);
}

Status Real(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId part, Part(op, 0));
  return op.Set(part, true);
}

Status Imag(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId part, Part(op, 1));
  return op.Set(part, true);
}

Status ComplexAbs(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
  if (!info->is_complex) return Error(StatusCode::kModel, "input must have complex elements");
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, true));
  const int64_t last = -1;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&last, 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kReduceL2, {id, axes}, {{"keepdims", int64_t{0}}}));
  return op.Set(made, true);
}

}  // namespace deputy::host::tflite_import
