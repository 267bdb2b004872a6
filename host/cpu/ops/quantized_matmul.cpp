// MatMulInteger and QLinearMatMul on the CPU.
#include "base/aligned.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized_operands.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

int64_t ScaleOf(const ScaleLayout& layout, int64_t element) {
  const int64_t inner = element % layout.inner, row = element / layout.inner;
  return row / layout.extent * layout.outer_step + row % layout.extent / layout.block * layout.axis_step +
         inner * layout.inner_step;
}

// Scales of both factors, by rows and by columns, as one for each element of the result. A factor that is a vector has
// one scale, and its axis is omitted.
Result<ScaleLayout> JoinMatrixScales(const KernelArgs& args, const OperandIndices& at, float* multipliers,
                                     float* widened) {
  const ConstView x = args.input(at.x_scale), w = args.input(at.w_scale);
  const MutableView output = args.output(0);
  const bool row = args.input(at.x).rank() == 1, column = args.input(at.w).rank() == 1;
  if ((row && x.element_count() != 1) || (column && w.element_count() != 1))
    return Error(StatusCode::kNotSupported, "per-axis scale of a vector operand is not supported");
  DEPUTY_ASSIGN_OR_RETURN(const ScaleLayout columns, LayOutMatrixScales(output.dims(), w.dims(), true));
  if (x.element_count() == 1) {
    DEPUTY_RETURN_IF_ERROR(JoinScales(args, at, multipliers));
    return columns;
  }
  DEPUTY_ASSIGN_OR_RETURN(const ScaleLayout rows, LayOutMatrixScales(output.dims(), x.dims(), column));
  DEPUTY_ASSIGN_OR_RETURN(const float* const x_scales, ReadScales(args, at.x_scale, widened));
  DEPUTY_ASSIGN_OR_RETURN(const float* const w_scales, ReadScales(args, at.w_scale, widened + x.element_count()));
  DEPUTY_ASSIGN_OR_RETURN(const float y_scale, ReadScale(args, at.y_scale));
  const int64_t count = output.element_count();
  args.pool.ParallelFor(count, 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      multipliers[i] = x_scales[ScaleOf(rows, i)] * w_scales[ScaleOf(columns, i)] / y_scale;
  });
  return ScaleLayout{1, 1, count, 0, 1, 0, 1};
}

Status RunProduct(const KernelArgs& args, const OperandIndices& at, const PackedRight& packed) {
  DEPUTY_ASSIGN_OR_RETURN(const ByteMatrices a, ReadByteMatrices(args, at.x, at.x_zero));
  DEPUTY_ASSIGN_OR_RETURN(const ByteMatrices b, ReadByteMatrices(args, at.w, at.w_zero));
  const std::span<const int64_t> c = args.output(0).dims();
  DEPUTY_ASSIGN_OR_RETURN(const IntegerProduct product, IntegerProduct::Plan(a, b, packed, c, args.pool));
  const bool scaled = at.y_scale != kAbsent;
  const auto scales = [&](size_t input) { return scaled ? args.input(input).element_count() : 0; };
  const int64_t results = scaled ? ElementCount(c) : 0;
  Arena arena;
  const size_t c_at = arena.Reserve<int32_t>(results);
  const size_t widened_at = arena.Reserve<float>(scales(at.x_scale) + scales(at.w_scale));
  const size_t joined_at = arena.Reserve<float>(scales(at.x_scale) > 1 ? results : scales(at.w_scale));
  const size_t workspace_at = arena.bytes();
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(workspace_at + product.workspace_bytes()));
  char* const base = static_cast<char*>(memory);
  DEPUTY_ASSIGN_OR_RETURN(int32_t* const sums, SumsOf(args, at, base + c_at));
  DEPUTY_RETURN_IF_ERROR(product.Compute(a, b, nullptr, sums, base + workspace_at, args.pool));
  if (!scaled) return {};
  float* const multipliers = reinterpret_cast<float*>(base + joined_at);
  DEPUTY_ASSIGN_OR_RETURN(const ScaleLayout layout,
                          JoinMatrixScales(args, at, multipliers, reinterpret_cast<float*>(base + widened_at)));
  return FinishQuantized(args, at, layout, sums, multipliers);
}

KernelResult MakeProduct(const KernelSpec& spec, const OperandIndices& at) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_ASSIGN_OR_RETURN(const PackedRight packed, PackRight(spec, at.w, at.w_zero));
  return KernelOf([at, packed](const KernelArgs& args) { return RunProduct(args, at, packed); });
}

}  // namespace

KernelResult MakeMatMulInteger(const KernelSpec& spec) { return MakeProduct(spec, kIntegerOperands); }
KernelResult MakeQLinearMatMul(const KernelSpec& spec) { return MakeProduct(spec, kQLinearOperands); }

}  // namespace deputy::host
