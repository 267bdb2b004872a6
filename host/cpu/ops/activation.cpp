// Gelu and Shrink on the CPU.
#include "kernels/activation.hpp"

#include <type_traits>

#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

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

KernelResult MakeGelu(const KernelSpec& spec) {
  const std::string_view approximate = spec.primitive().GetString("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return Error(StatusCode::kModel, "there is no approximation '{}'", approximate);
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
