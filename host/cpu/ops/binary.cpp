// Kernels of the operators with broadcast inputs: arithmetic, comparison, logic, bitwise operators, variadic sums,
// Where.
#include "kernels/binary.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"

namespace deputy::host {
namespace {

Status UnsupportedPair(const KernelSpec& spec, DType first, DType second) {
  if (first == second) return UnsupportedDType(spec);
  return Error(StatusCode::kNotSupported, "{} of {} and {} is not supported", spec.primitive().op_type(), NameOf(first),
               NameOf(second));
}

KernelResult MakeBinary(const KernelSpec& spec, BinaryOp op) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType first = spec.input_type(0).dtype, second = spec.input_type(1).dtype;
  const std::optional<BinaryKernel> found = FindBinary(op, first, second);
  if (!found) return UnsupportedPair(spec, first, second);
  const BinaryKernel kernel = *found;
  const DType result = ResultOf(op, first);
  return KernelOf<OutputMemory::kOverInputs>([=](const KernelArgs& args) -> Status {
    const ConstView x = args.input(0), y = args.input(1);
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(x, first));
    DEPUTY_RETURN_IF_ERROR(CheckTyped(y, second));
    DEPUTY_RETURN_IF_ERROR(CheckTypedOutput(output, result));
    DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<2> plan, PlanBroadcast<2>({x.dims(), y.dims()}, output.dims()));
    Binary(kernel, plan, x.data<char>(), y.data<char>(), output.data<char>(), args.pool);
    return {};
  });
}

// The sum or mean of three and more 16-bit floats, computed in float to avoid intermediate cancellation and overflow.
class WideSum {
 public:
  WideSum(DType dtype, size_t count, bool mean)
      : dtype_(dtype),
        add_(*FindBinary(BinaryOp::kAdd, DType::kFloat32, DType::kFloat32)),
        divisor_(mean ? static_cast<float>(count) : 1) {}

  Status Run(const KernelArgs& args) const {
    const MutableView output = args.output(0);
    const int64_t count = output.element_count();
    int64_t largest = count;
    for (size_t i = 0; i < args.inputs.size(); ++i) largest = std::max(largest, args.input(i).element_count());
    DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(2 * static_cast<size_t>(largest) * sizeof(float)));
    float* const sum = static_cast<float*>(memory);
    float* const term = sum + largest;
    std::fill_n(sum, count, 0.0f);
    for (size_t i = 0; i < args.inputs.size(); ++i) {
      const ConstView input = args.input(i);
      Cast(dtype_, input.data<char>(), DType::kFloat32, term, input.element_count(), args.pool);
      DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<2> plan,
                              PlanBroadcast<2>({output.dims(), input.dims()}, output.dims()));
      Binary(add_, plan, sum, term, sum, args.pool);
    }
    if (divisor_ != 1)
      for (int64_t i = 0; i < count; ++i) sum[i] /= divisor_;
    Cast(DType::kFloat32, sum, dtype_, output.data<char>(), count, args.pool);
    return {};
  }

 private:
  DType dtype_;
  BinaryKernel add_;
  float divisor_;
};

// Any number of inputs, combined pair by pair in the output; a mean divides at the end.
KernelResult MakeVariadic(const KernelSpec& spec, BinaryOp op, bool mean) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  for (size_t i = 0; i < spec.node.inputs.size(); ++i) {
    if (!spec.has_input(i)) return Error(StatusCode::kModel, "required input {} is missing", i);
    if (spec.input_type(i).dtype != dtype) return UnsupportedPair(spec, dtype, spec.input_type(i).dtype);
  }
  const std::optional<BinaryKernel> found = FindBinary(op, dtype, dtype);
  const std::optional<BinaryKernel> found_divide = FindBinary(BinaryOp::kDiv, dtype, dtype);
  if (!found || !found_divide || (mean && !IsFloating(dtype))) return UnsupportedDType(spec);
  const BinaryKernel join = *found, divide = *found_divide;
  std::array<uint64_t, 1> divisor = {};
  const float count = static_cast<float>(spec.node.inputs.size());
  FindConvert(DType::kFloat32, dtype)(&count, divisor.data(), 1);
  std::optional<WideSum> wide;
  if (IsFloat16(dtype) && op == BinaryOp::kAdd && (mean || spec.node.inputs.size() > 2))
    wide.emplace(dtype, spec.node.inputs.size(), mean);
  return KernelOf([=](const KernelArgs& args) -> Status {
    if (args.inputs.size() == 1) return CopyElements(args);
    for (size_t i = 0; i < args.inputs.size(); ++i) DEPUTY_RETURN_IF_ERROR(CheckTyped(args.input(i), dtype));
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTypedOutput(output, dtype));
    if (wide) return wide->Run(args);
    char* const target = output.data<char>();
    for (size_t i = 1; i < args.inputs.size(); ++i) {
      const std::span<const int64_t> joined = i == 1 ? args.input(0).dims() : output.dims();
      DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<2> plan,
                              PlanBroadcast<2>({joined, args.input(i).dims()}, output.dims()));
      Binary(join, plan, i == 1 ? args.input(0).data<char>() : target, args.input(i).data<char>(), target, args.pool);
    }
    if (!mean) return {};
    DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<2> plan, PlanBroadcast<2>({output.dims(), {}}, output.dims()));
    Binary(divide, plan, target, divisor.data(), target, args.pool);
    return {};
  });
}

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

#define DEPUTY_MAKE_BINARY(name) \
  KernelResult Make##name(const KernelSpec& spec) { return MakeBinary(spec, BinaryOp::k##name); }
DEPUTY_MAKE_BINARY(Add)
DEPUTY_MAKE_BINARY(And)
DEPUTY_MAKE_BINARY(Div)
DEPUTY_MAKE_BINARY(Equal)
DEPUTY_MAKE_BINARY(Greater)
DEPUTY_MAKE_BINARY(GreaterOrEqual)
DEPUTY_MAKE_BINARY(Less)
DEPUTY_MAKE_BINARY(LessOrEqual)
DEPUTY_MAKE_BINARY(Mul)
DEPUTY_MAKE_BINARY(Or)
DEPUTY_MAKE_BINARY(PRelu)
DEPUTY_MAKE_BINARY(Pow)
DEPUTY_MAKE_BINARY(Sub)
DEPUTY_MAKE_BINARY(Xor)
#undef DEPUTY_MAKE_BINARY

KernelResult MakeMax(const KernelSpec& spec) { return MakeVariadic(spec, BinaryOp::kMax, false); }
KernelResult MakeMean(const KernelSpec& spec) { return MakeVariadic(spec, BinaryOp::kAdd, true); }
KernelResult MakeMin(const KernelSpec& spec) { return MakeVariadic(spec, BinaryOp::kMin, false); }
KernelResult MakeSum(const KernelSpec& spec) { return MakeVariadic(spec, BinaryOp::kAdd, false); }

KernelResult MakeMod(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const bool fmod = spec.primitive().GetInt("fmod", 0) != 0;
  if (!fmod && IsFloating(spec.input_type(0).dtype) && spec.primitive().since_version() < 28)
    return Error(StatusCode::kNotSupported, "Mod of {} requires fmod=1 before opset 28",
                 NameOf(spec.input_type(0).dtype));
  return MakeBinary(spec, fmod ? BinaryOp::kFMod : BinaryOp::kMod);
}

KernelResult MakeWhere(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const DType dtype = spec.input_type(1).dtype;
  if (spec.input_type(0).dtype != DType::kBool || spec.input_type(2).dtype != dtype || SizeOf(dtype) == 0)
    return UnsupportedPair(spec, dtype, spec.input_type(2).dtype);
  return KernelOf<OutputMemory::kOverInputs>([=](const KernelArgs& args) -> Status {
    const ConstView condition = args.input(0), x = args.input(1), y = args.input(2);
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(condition, DType::kBool));
    DEPUTY_RETURN_IF_ERROR(CheckTyped(x, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckTyped(y, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckTypedOutput(output, dtype));
    DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<3> plan,
                            PlanBroadcast<3>({condition.dims(), x.dims(), y.dims()}, output.dims()));
    Where(SizeOf(dtype), plan, condition.data<char>(), x.data<char>(), y.data<char>(), output.data<char>(), args.pool);
    return {};
  });
}

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
    return Error(StatusCode::kModel, "direction must be LEFT or RIGHT, got '{}'", direction);
  if (direction == "LEFT") return MakeBitwise(spec, BitwiseOp::kShiftLeft);
  const bool is_signed = DispatchSigned(spec.input_type(0).dtype, [](auto) {});
  return MakeBitwise(spec, is_signed ? BitwiseOp::kShiftSigned : BitwiseOp::kShiftRight);
}

}  // namespace deputy::host
