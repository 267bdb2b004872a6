// Kernels of the experimental operators of ONNX that compute one element from one: Affine, ParametricSoftplus, Scale,
// ScaledTanh. Old files have them.
#include "base/cancellation.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/grain.hpp"
#include "kernels/unary_float.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

enum class Function : uint8_t { kAffine, kSoftplus, kTanh };

// alpha * x + beta, alpha * softplus(beta * x), alpha * tanh(beta * x)
template <class T>
class ScaledFunction {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    int64_t count = 0;
    size_t workspace_bytes = 0;
  };

  ScaledFunction(Function function, float alpha, float beta)
      : function_(function), alpha_(static_cast<T>(alpha)), beta_(static_cast<T>(beta)) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), args.input(0).dims(), "the output"));
    return Plan{ElementCount(args.input(0).dims())};
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    switch (function_) {
      case Function::kAffine: return Apply(plan, args, [this](T x) { return alpha_ * x + beta_; });
      case Function::kSoftplus: return Apply(plan, args, [this](T x) { return alpha_ * SoftplusOf(beta_ * x); });
      case Function::kTanh: return Apply(plan, args, [this](T x) { return alpha_ * TanhOf(beta_ * x); });
    }
    return {};
  }

 private:
  template <class F>
  static Status Apply(const Plan& plan, const KernelArgs& args, F&& function) {
    const T* const x = args.input(0).data<T>();
    T* const y = args.output(0).data<T>();
    args.pool.ParallelFor(plan.count, kGrainElements, [&](int64_t begin, int64_t end) {
      InParts(end - begin, kLongRow >> 4, [&](int64_t first, int64_t last) {
        for (int64_t i = begin + first; i < begin + last; ++i) y[i] = function(x[i]);
      });
    });
    return {};
  }

  const Function function_;
  const T alpha_, beta_;
};

KernelResult MakeScaled(const KernelSpec& spec, Function function) {
  return MakeFloatKernel<ScaledFunction>(spec, function, spec.primitive().GetFloat("alpha", 1),
                                         spec.primitive().GetFloat("beta", 0));
}

// Of these neither attribute has a default.
KernelResult MakeWithBoth(const KernelSpec& spec, Function function) {
  for (const char* name : {"alpha", "beta"})
    if (!spec.primitive().Has(name)) return Error(StatusCode::kModel, "attribute '{}' is missing", name);
  return MakeScaled(spec, function);
}

}  // namespace

KernelResult MakeAffine(const KernelSpec& spec) { return MakeScaled(spec, Function::kAffine); }
KernelResult MakeParametricSoftplus(const KernelSpec& spec) { return MakeWithBoth(spec, Function::kSoftplus); }
KernelResult MakeScaledTanh(const KernelSpec& spec) { return MakeWithBoth(spec, Function::kTanh); }
KernelResult MakeScale(const KernelSpec& spec) {
  return MakeFloatKernel<ScaledFunction>(spec, Function::kAffine, spec.primitive().GetFloat("scale", 1), 0.0f);
}

}  // namespace deputy::host
