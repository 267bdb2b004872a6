// The bitwise operators and BitShift on the CPU.
#include "kernels/bitwise.hpp"

#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/typed.hpp"

namespace deputy::host {
namespace {

KernelResult MakeBitwise(const KernelSpec& spec, BitwiseOp op) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  if (!DispatchInteger(dtype, [](auto) {})) return UnsupportedDType(spec);
  return KernelOf([=](const KernelArgs& args) -> Status {
    const ConstView a = args.input(0), b = args.input(1);
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(a, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckTyped(b, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckTypedOutput(output, dtype));
    DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<2> plan, PlanBroadcast<2>({a.dims(), b.dims()}, output.dims()));
    Bitwise(op, dtype, plan, a.data<void>(), b.data<void>(), output.data<void>(), args.pool);
    return {};
  });
}

}  // namespace

KernelResult MakeBitwiseAnd(const KernelSpec& spec) { return MakeBitwise(spec, BitwiseOp::kAnd); }
KernelResult MakeBitwiseOr(const KernelSpec& spec) { return MakeBitwise(spec, BitwiseOp::kOr); }
KernelResult MakeBitwiseXor(const KernelSpec& spec) { return MakeBitwise(spec, BitwiseOp::kXor); }

KernelResult MakeBitwiseNot(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  if (!DispatchInteger(dtype, [](auto) {})) return UnsupportedDType(spec);
  return KernelOf([dtype](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), dtype, input.dims()));
    BitwiseNot(dtype, input.data<void>(), args.output(0).data<void>(), input.element_count(), args.pool);
    return {};
  });
}

KernelResult MakeBitShift(const KernelSpec& spec) {
  const std::string_view direction = spec.primitive().GetString("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return Error(StatusCode::kModel, "attribute 'direction' is '{}', neither LEFT nor RIGHT", direction);
  if (!DispatchUnsigned(spec.input_type(0).dtype, [](auto) {})) return UnsupportedDType(spec);
  return MakeBitwise(spec, direction == "LEFT" ? BitwiseOp::kShiftLeft : BitwiseOp::kShiftRight);
}

}  // namespace deputy::host
