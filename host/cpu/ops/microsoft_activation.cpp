// BiasGelu, FastGelu and Gelu of com.microsoft on the CPU, and the final activations of FusedConv and
// FusedGemm.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/activation.hpp"
#include "kernels/binary.hpp"
#include "kernels/cast.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/unary.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kGrain = 4096;

template <class T>
class BiasedGelu {
 public:
  static constexpr uint32_t kTypedInputs = 0b11, kTypedOutputs = 0b1;
  struct Plan {
    int64_t rows = 0, size = 0;
    size_t workspace_bytes = 0;
  };

  explicit BiasedGelu(bool tanh) : tanh_(tanh) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), bias = args.input(1);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    Plan plan;
    plan.rows = 1;
    plan.size = ElementCount(x.dims());
    if (!bias.present()) return plan;
    if (x.rank() == 0 || bias.rank() != 1 || bias.dim(0) != x.dims().back())
      return Error(StatusCode::kInvalidArgument, "bias of shape {} does not match the last axis of input {}",
                   ShapeToString(bias.dims()), ShapeToString(x.dims()));
    plan.size = bias.dim(0);
    plan.rows = ElementCount(x.dims().first(x.rank() - 1));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const T* const x = args.input(0).data<T>();
    T* const y = args.output(0).data<T>();
    if (!args.input(1).present()) {
      Gelu(x, y, plan.size, tanh_, args.pool);
      return {};
    }
    const T* const bias = args.input(1).data<T>();
    args.pool.ParallelFor(plan.rows, kGrain / std::max<int64_t>(1, plan.size) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* const from = x + row * plan.size;
        T* const to = y + row * plan.size;
        if constexpr (std::is_same_v<T, float>)
          linalg::Apply(linalg::PairFunction::kAdd, from, 1, bias, 1, plan.size, to);
        else
          for (int64_t i = 0; i < plan.size; ++i) to[i] = from[i] + bias[i];
      }
    });
    Gelu(y, y, plan.rows * plan.size, tanh_, args.pool);
    return {};
  }

 private:
  bool tanh_;
};

// A function that is applied to a result in place.
struct FusedActivation {
  std::optional<UnaryOp> function;
  UnaryParameters parameters;
  bool clips = false;
  float low = 0, high = 0;
};

struct KnownActivation {
  std::string_view name;
  UnaryOp function;
  float alpha, beta;  // defaults
};
constexpr KnownActivation kActivations[] = {
    {"Celu", UnaryOp::kCelu, 1, 0},
    {"Elu", UnaryOp::kElu, 1, 0},
    {"HardSigmoid", UnaryOp::kHardSigmoid, 0.2f, 0.5f},
    {"LeakyRelu", UnaryOp::kLeakyRelu, 0.01f, 0},
    {"Relu", UnaryOp::kRelu, 0, 0},
    {"Selu", UnaryOp::kSelu, 1.6732632f, 1.0507010f},
    {"Sigmoid", UnaryOp::kSigmoid, 0, 0},
    {"Softplus", UnaryOp::kSoftplus, 0, 0},
    {"Softsign", UnaryOp::kSoftsign, 0, 0},
    {"Tanh", UnaryOp::kTanh, 0, 0},
    {"ThresholdedRelu", UnaryOp::kThresholdedRelu, 1, 0},
};

// `parameters` are alpha and beta, or the bounds of Clip, as far as given.
Result<FusedActivation> ReadActivation(const KernelSpec& spec, std::span<const float> parameters) {
  const std::string_view name = spec.primitive().GetString("activation", "");
  FusedActivation activation;
  if (name.empty()) return activation;
  const auto parameter = [&](size_t i, float otherwise) { return i < parameters.size() ? parameters[i] : otherwise; };
  if (name == "Clip") {
    activation.clips = true;
    activation.low = parameter(0, std::numeric_limits<float>::lowest());
    activation.high = parameter(1, std::numeric_limits<float>::max());
    return activation;
  }
  for (const KnownActivation& known : kActivations) {
    if (known.name != name) continue;
    activation.function = known.function;
    activation.parameters.alpha = parameter(0, known.alpha);
    activation.parameters.beta = parameter(1, known.beta);
    return activation;
  }
  return Error(StatusCode::kNotSupported, "{} with activation '{}' is not supported", spec.primitive().op_type(), name);
}

// A kernel, then an optional summand, then an activation, all in the output's memory.
class FusedKernel final : public CpuKernel {
 public:
  FusedKernel(std::unique_ptr<CpuKernel> first, size_t inputs, std::optional<BinaryKernel> sum,
              FusedActivation activation)
      : first_(std::move(first)), inputs_(inputs), sum_(sum), activation_(activation) {}

  Status Run(const KernelArgs& args) const override {
    const KernelArgs own{args.inputs.first(std::min(inputs_, args.inputs.size())), args.outputs, args.pool,
                         args.scratch, args.allocator};
    DEPUTY_RETURN_IF_ERROR(first_->Run(own));
    const MutableView y = args.output(0);
    char* const data = y.data<char>();
    if (sum_) {
      const ConstView summand = args.input(inputs_);
      DEPUTY_RETURN_IF_ERROR(CheckTyped(summand, y.dtype()));
      DEPUTY_RETURN_IF_ERROR(CheckDims(summand.dims(), y.dims(), "Z"));
      DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<2> plan, PlanBroadcast<2>({y.dims(), summand.dims()}, y.dims()));
      Binary(*sum_, plan, data, summand.data<char>(), data, args.pool);
    }
    if (activation_.function)
      Unary(*activation_.function, y.dtype(), activation_.parameters, data, data, y.element_count(), args.pool);
    if (!activation_.clips) return {};
    std::array<uint64_t, 2> bounds = {};
    const ConvertFunction convert = FindConvert(DType::kFloat32, y.dtype());
    convert(&activation_.low, &bounds[0], 1);
    convert(&activation_.high, &bounds[1], 1);
    Clip(y.dtype(), data, &bounds[0], &bounds[1], data, y.element_count(), args.pool);
    return {};
  }

 private:
  std::unique_ptr<CpuKernel> first_;
  size_t inputs_;  // of the first kernel; the summand is the next input
  std::optional<BinaryKernel> sum_;
  FusedActivation activation_;
};

}  // namespace

KernelResult MakeMicrosoft_BiasGelu(const KernelSpec& spec) { return MakeFloatKernel<BiasedGelu>(spec, false); }
KernelResult MakeMicrosoft_FastGelu(const KernelSpec& spec) { return MakeFloatKernel<BiasedGelu>(spec, true); }
KernelResult MakeMicrosoft_Gelu(const KernelSpec& spec) { return MakeFloatKernel<BiasedGelu>(spec, false); }
KernelResult MakeMicrosoft_FusedConv(const KernelSpec& spec) {
  DEPUTY_ASSIGN_OR_RETURN(const FusedActivation activation,
                          ReadActivation(spec, spec.primitive().GetFloats("activation_params")));
  DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<CpuKernel> convolution, MakeConv(spec));
  const DType dtype = spec.input_type(0).dtype;
  std::optional<BinaryKernel> sum;
  if (spec.has_input(3)) sum = FindBinary(BinaryOp::kAdd, dtype, dtype);
  return KernelResult(std::make_unique<FusedKernel>(std::move(convolution), 3, sum, activation));
}

KernelResult MakeMicrosoft_FusedGemm(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  if (!IsFloating(spec.input_type(0).dtype)) return UnsupportedDType(spec);
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (!primitive.Has(name)) break;
    parameters.push_back(primitive.GetFloat(name, 0));
  }
  DEPUTY_ASSIGN_OR_RETURN(FusedActivation activation, ReadActivation(spec, parameters));
  if (primitive.Has("activation_gamma") && activation.function == UnaryOp::kSelu)
    activation.parameters.beta = primitive.GetFloat("activation_gamma", 0);
  DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<CpuKernel> product, MakeGemm(spec));
  return KernelResult(std::make_unique<FusedKernel>(std::move(product), 3, std::nullopt, activation));
}

}  // namespace deputy::host
