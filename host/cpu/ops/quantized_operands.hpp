// The operands of ConvInteger, MatMulInteger, QLinearConv and QLinearMatMul: both kinds multiply 8-bit integers without
// their zero points into int32; QLinear scales the sums and converts them.
#pragma once

#include "cpu/ops/quantized.hpp"

namespace deputy::host {

// The indices of the operands among a node's inputs; `kAbsent` for those that the operator does not have.
struct OperandIndices {
  size_t x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias;
};
constexpr OperandIndices kIntegerOperands{0, kAbsent, 2, 1, kAbsent, 3, kAbsent, kAbsent, kAbsent};
constexpr OperandIndices kQLinearOperands{0, 1, 2, 3, 4, 5, 6, 7, 8};

// The memory of the sums: an output of int32 holds them itself.
Result<int32_t*> SumsOf(const KernelArgs& args, const OperandIndices& at, void* memory);

// The scales of the weights, combined with those of input and output.
Status JoinScales(const KernelArgs& args, const OperandIndices& at, float* multipliers);

// Scales the sums and converts them to the output's type.
template <class T>
Status FinishQuantized(const KernelArgs& args, const OperandIndices& at, const ScaleLayout& layout, const T* sums,
                       const float* multipliers) {
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const void* const zero, ReadZeroPoints(args, at.y_zero, output.dtype(), 1));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, output.dtype(), output.dims()));
  if (!Requantize(layout, sums, multipliers, output.dtype(), zero, output.data<void>(), args.pool))
    return Error(StatusCode::kNotSupported, "a quantized output of {} is not supported", NameOf(output.dtype()));
  return {};
}

}  // namespace deputy::host
