#include "cpu/ops/quantized_operands.hpp"

namespace deputy::host {

Result<int32_t*> SumsOf(const KernelArgs& args, const OperandIndices& at, void* memory) {
  if (at.y_scale != kAbsent) return static_cast<int32_t*>(memory);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kInt32, args.output(0).dims()));
  return args.output(0).data<int32_t>();
}

Status JoinScales(const KernelArgs& args, const OperandIndices& at, float* multipliers) {
  DEPUTY_ASSIGN_OR_RETURN(const float x_scale, ReadScale(args, at.x_scale));
  DEPUTY_ASSIGN_OR_RETURN(const float y_scale, ReadScale(args, at.y_scale));
  DEPUTY_ASSIGN_OR_RETURN(const float* const w_scales, ReadScales(args, at.w_scale, multipliers));
  for (int64_t c = 0; c < args.input(at.w_scale).element_count(); ++c) multipliers[c] = x_scale * w_scales[c] / y_scale;
  return {};
}

}  // namespace deputy::host
