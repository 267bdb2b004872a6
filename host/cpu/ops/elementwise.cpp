// Kernels of the element-wise operators of one tensor: functions, Cast, BitCast, Clip, Identity, Dropout, Gelu, Shrink.
#include <cstring>
#include <type_traits>

#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/activation.hpp"
#include "kernels/cast.hpp"
#include "kernels/copy.hpp"
#include "kernels/unary.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

KernelResult MakeUnary(const KernelSpec& spec, UnaryOp op, const UnaryParameters& parameters = {}) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  if (!SupportsUnary(op, dtype)) return UnsupportedDType(spec);
  const DType result = op == UnaryOp::kIsInf || op == UnaryOp::kIsNaN ? DType::kBool : dtype;
  return KernelOf<OutputMemory::kOverInputs>([=](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, result, input.dims()));
    Unary(op, dtype, parameters, input.data<char>(), output.data<char>(), input.element_count(), args.pool);
    return {};
  });
}

KernelResult MakeUnary(const KernelSpec& spec, UnaryOp op, float default_alpha, float default_beta = 0,
                       const char* beta = "beta") {
  UnaryParameters parameters;
  parameters.alpha = spec.primitive().GetFloat("alpha", default_alpha);
  parameters.beta = spec.primitive().GetFloat(beta, default_beta);
  return MakeUnary(spec, op, parameters);
}

// From or to a storage type.
KernelResult MakeStorageConversion(const KernelSpec& spec, DType from, DType to) {
  if (BitsOf(from) == 0 || BitsOf(to) == 0)
    return Error(StatusCode::kNotSupported, "{} from {} to {} is not supported", spec.primitive().op_type(),
                 NameOf(from), NameOf(to));
  Narrowing how;
  how.saturate = spec.primitive().GetInt("saturate", 1) != 0;
  const std::string_view scale = spec.primitive().GetString("round_mode", "up");
  if (scale == "down") how.scale = Narrowing::Scale::kDown;
  if (scale == "nearest") how.scale = Narrowing::Scale::kNearest;
  return KernelOf([=](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, from));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, to, input.dims()));
    CastStorage(from, input.data<char>(), to, output.data<char>(), input.element_count(), how, args.pool);
    return {};
  });
}

KernelResult MakeConversion(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType from = spec.input_type(0).dtype, to = spec.output_type(0).dtype;
  if (IsStorage(from) || IsStorage(to)) return MakeStorageConversion(spec, from, to);
  if (FindConvert(from, to) == nullptr)
    return Error(StatusCode::kNotSupported, "{} from {} to {} is not supported", spec.primitive().op_type(),
                 NameOf(from), NameOf(to));
  return KernelOf<OutputMemory::kOverInputs>([=](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, from));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, to, input.dims()));
    Cast(from, input.data<char>(), to, output.data<char>(), input.element_count(), args.pool);
    return {};
  });
}

// A bound of Clip: one element in memory of the tensor's type.
class ClipBound {
 public:
  ClipBound(const KernelSpec& spec, size_t input, const char* attribute, DType dtype) : input_(input) {
    if (spec.has_input(input) || !spec.primitive().Has(attribute)) return;
    const float value = spec.primitive().GetFloat(attribute, 0);
    FindConvert(DType::kFloat32, dtype)(&value, bytes_, 1);
    has_attribute_ = true;
  }

  // Null when there is no bound.
  Result<const void*> Of(const KernelArgs& args, DType dtype) const {
    const ConstView bound = args.input(input_);
    if (!bound.present()) return has_attribute_ ? static_cast<const void*>(bytes_) : nullptr;
    DEPUTY_RETURN_IF_ERROR(CheckTyped(bound, dtype));
    if (bound.element_count() != 1)
      return Error(StatusCode::kInvalidArgument, "min and max must be scalars, got {} elements", bound.element_count());
    return static_cast<const void*>(bound.data<char>());
  }

 private:
  size_t input_;
  bool has_attribute_ = false;
  alignas(8) char bytes_[8] = {};
};

struct ElementPlan {
  int64_t count = 0;
  size_t workspace_bytes = 0;
};

Result<ElementPlan> PlanElements(const KernelArgs& args) {
  DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), args.input(0).dims(), "the output"));
  return ElementPlan{ElementCount(args.input(0).dims())};
}

template <class T>
class GeluOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  using Plan = ElementPlan;
  explicit GeluOperation(bool tanh) : tanh_(tanh) {}
  Result<Plan> MakePlan(const KernelArgs& args) const { return PlanElements(args); }
  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    Gelu(args.input(0).data<T>(), args.output(0).data<T>(), plan.count, tanh_, args.pool);
    return Status();
  }

 private:
  bool tanh_;
};

template <class T>
class ShrinkOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  using Plan = ElementPlan;
  ShrinkOperation(float threshold, float bias) : threshold_(threshold), bias_(bias) {}
  Result<Plan> MakePlan(const KernelArgs& args) const { return PlanElements(args); }
  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const T* const x = args.input(0).data<T>();
    T* const y = args.output(0).data<T>();
    if constexpr (std::is_floating_point_v<T>)
      Shrink(x, y, plan.count, static_cast<T>(threshold_), static_cast<T>(bias_), args.pool);
    else
      ShrinkWhole(x, y, plan.count, static_cast<double>(threshold_), static_cast<double>(bias_), args.pool);
    return Status();
  }

 private:
  float threshold_, bias_;
};

}  // namespace

#define DEPUTY_MAKE_UNARY(name) \
  KernelResult Make##name(const KernelSpec& spec) { return MakeUnary(spec, UnaryOp::k##name); }
DEPUTY_MAKE_UNARY(Abs)
DEPUTY_MAKE_UNARY(Acos)
DEPUTY_MAKE_UNARY(Acosh)
DEPUTY_MAKE_UNARY(Asin)
DEPUTY_MAKE_UNARY(Asinh)
DEPUTY_MAKE_UNARY(Atan)
DEPUTY_MAKE_UNARY(Atanh)
DEPUTY_MAKE_UNARY(Ceil)
DEPUTY_MAKE_UNARY(Cos)
DEPUTY_MAKE_UNARY(Cosh)
DEPUTY_MAKE_UNARY(Erf)
DEPUTY_MAKE_UNARY(Exp)
DEPUTY_MAKE_UNARY(Floor)
DEPUTY_MAKE_UNARY(HardSwish)
DEPUTY_MAKE_UNARY(IsNaN)
DEPUTY_MAKE_UNARY(Log)
DEPUTY_MAKE_UNARY(Mish)
DEPUTY_MAKE_UNARY(Neg)
DEPUTY_MAKE_UNARY(Not)
DEPUTY_MAKE_UNARY(Reciprocal)
DEPUTY_MAKE_UNARY(Relu)
DEPUTY_MAKE_UNARY(Round)
DEPUTY_MAKE_UNARY(Sigmoid)
DEPUTY_MAKE_UNARY(Sign)
DEPUTY_MAKE_UNARY(Sin)
DEPUTY_MAKE_UNARY(Sinh)
DEPUTY_MAKE_UNARY(Softplus)
DEPUTY_MAKE_UNARY(Softsign)
DEPUTY_MAKE_UNARY(Sqrt)
DEPUTY_MAKE_UNARY(Tan)
DEPUTY_MAKE_UNARY(Tanh)
#undef DEPUTY_MAKE_UNARY

KernelResult MakeCelu(const KernelSpec& spec) { return MakeUnary(spec, UnaryOp::kCelu, 1.0f); }
KernelResult MakeElu(const KernelSpec& spec) { return MakeUnary(spec, UnaryOp::kElu, 1.0f); }
KernelResult MakeHardSigmoid(const KernelSpec& spec) { return MakeUnary(spec, UnaryOp::kHardSigmoid, 0.2f, 0.5f); }
KernelResult MakeLeakyRelu(const KernelSpec& spec) { return MakeUnary(spec, UnaryOp::kLeakyRelu, 0.01f); }
KernelResult MakeThresholdedRelu(const KernelSpec& spec) { return MakeUnary(spec, UnaryOp::kThresholdedRelu, 1.0f); }
KernelResult MakeSelu(const KernelSpec& spec) {
  return MakeUnary(spec, UnaryOp::kSelu, 1.67326319217681884765625f, 1.05070102214813232421875f, "gamma");
}

KernelResult MakeIsInf(const KernelSpec& spec) {
  UnaryParameters parameters;
  parameters.positive = spec.primitive().GetInt("detect_positive", 1) != 0;
  parameters.negative = spec.primitive().GetInt("detect_negative", 1) != 0;
  return MakeUnary(spec, UnaryOp::kIsInf, parameters);
}

KernelResult MakeCast(const KernelSpec& spec) { return MakeConversion(spec); }
// The bits are copied; a bool stays one, 0 or 1.
KernelResult MakeBitCast(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType from = spec.input_type(0).dtype, to = spec.output_type(0).dtype;
  if (BitsOf(from) != BitsOf(to) || BitsOf(to) == 0)
    return Error(StatusCode::kNotSupported, "BitCast from {} to {} is not supported", NameOf(from), NameOf(to));
  return KernelOf([=](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, from));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, to, input.dims()));
    if (to == DType::kBool)
      Cast(DType::kUint8, input.data<char>(), to, output.data<char>(), input.element_count(), args.pool);
    else
      CopyBytes(input.data<char>(), output.data<char>(), input.byte_size(), args.pool);
    return {};
  });
}

KernelResult MakeCastLike(const KernelSpec& spec) { return MakeConversion(spec); }

KernelResult MakeClip(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  if (!IsNumeric(dtype)) return UnsupportedDType(spec);
  const ClipBound low(spec, 1, "min", dtype), high(spec, 2, "max", dtype);
  return KernelOf<OutputMemory::kOverInputs>([=](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, dtype, input.dims()));
    DEPUTY_ASSIGN_OR_RETURN(const void* const bottom, low.Of(args, dtype));
    DEPUTY_ASSIGN_OR_RETURN(const void* const top, high.Of(args, dtype));
    Clip(dtype, input.data<char>(), bottom, top, output.data<char>(), input.element_count(), args.pool);
    return {};
  });
}

// Without training nothing is dropped: a copy, and a mask that is all true.
KernelResult MakeDropout(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const bool has_mask = spec.node.outputs.size() > 1 && spec.node.outputs[1] != kNone;
  // An omitted `training_mode` is false.
  if (!has_mask && !spec.has_input(2))
    return KernelOf<OutputMemory::kView>([](const KernelArgs& args) { return CopyElements(args); });
  return KernelOf([](const KernelArgs& args) -> Status {
    const ConstView ratio = args.input(1), training = args.input(2);
    if (training.present() && training.byte_size() == 1 && *training.data<uint8_t>() != 0) {
      float share = 0.5f;
      if (ratio.present() && ratio.byte_size() != 0 && ratio.byte_size() == SizeOf(ratio.dtype())) {
        const auto convert = FindConvert(ratio.dtype(), DType::kFloat32);
        if (convert == nullptr)
          return Error(StatusCode::kNotSupported, "a ratio of dtype {} is not supported", NameOf(ratio.dtype()));
        convert(ratio.data<char>(), &share, 1);
      }
      if (share != 0) return Error(StatusCode::kNotSupported, "Dropout in training mode is not supported");
    }
    DEPUTY_RETURN_IF_ERROR(CopyElements(args));
    const MutableView mask = args.output(1);
    if (!mask.present()) return {};
    DEPUTY_RETURN_IF_ERROR(CheckOutput(mask, DType::kBool, args.input(0).dims()));
    const uint8_t kept = 1;
    Fill(&kept, mask.data<char>(), static_cast<int64_t>(mask.byte_size()), 1, args.pool);
    return {};
  });
}

KernelResult MakeGelu(const KernelSpec& spec) {
  const std::string_view approximate = spec.primitive().GetString("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return Error(StatusCode::kModel, "approximate must be none or tanh, got '{}'", approximate);
  return MakeFloatKernel<GeluOperation>(spec, approximate == "tanh");
}

KernelResult MakeShrink(const KernelSpec& spec) {
  const float threshold = spec.primitive().GetFloat("lambd", 0.5f), bias = spec.primitive().GetFloat("bias", 0.0f);
  const DType dtype = spec.input_type(0).dtype;
  if (IsFloating(dtype)) return MakeFloatKernel<ShrinkOperation>(spec, threshold, bias);
  KernelResult made = UnsupportedDType(spec);
  DispatchInteger(dtype, [&](auto tag) {
    made = MakePlannedKernel(spec, ShrinkOperation<typename decltype(tag)::Type>(threshold, bias));
  });
  return made;
}

}  // namespace deputy::host
