// Swish, x * sigmoid(alpha * x), which com.microsoft calls QuickGelu, and SwiGLU, its product with a second input, on
// the CPU.
#include <cmath>
#include <type_traits>

#include "base/cancellation.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/linalg/rows.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kSwishGrain = 4096;

template <class T>
class SwishOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b11, kTypedOutputs = 0b1;
  struct Plan {
    int64_t count = 0;
    size_t workspace_bytes = 0;
  };

  explicit SwishOperation(float alpha) : alpha_(alpha) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const std::span<const int64_t> dims = args.input(0).dims();
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), dims, "the output"));
    if (args.input(1).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.input(1).dims(), dims, "B"));
    return Plan{ElementCount(dims)};
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const T* const x = args.input(0).data<T>();
    const T* const linear = args.input(1).present() ? args.input(1).data<T>() : nullptr;
    T* const y = args.output(0).data<T>();
    const auto compute = [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<T, float>) {
        const int64_t count = end - begin;
        linalg::Apply(linalg::RowFunction::kAffine, x + begin, count, alpha_, 0, y + begin);
        linalg::Apply(linalg::RowFunction::kSigmoid, y + begin, count, 0, 0, y + begin);
        linalg::Apply(linalg::PairFunction::kMul, x + begin, 1, y + begin, 1, count, y + begin);
        if (linear != nullptr)
          linalg::Apply(linalg::PairFunction::kMul, y + begin, 1, linear + begin, 1, count, y + begin);
      } else {
        const T alpha = static_cast<T>(alpha_);
        for (int64_t i = begin; i < end; ++i) {
          const T gate = x[i] / (T(1) + std::exp(-alpha * x[i]));
          y[i] = linear == nullptr ? gate : gate * linear[i];
        }
      }
    };
    args.pool.ParallelFor(plan.count, kSwishGrain, [&](int64_t begin, int64_t end) {
      InParts(end - begin, kLongRow, [&](int64_t first, int64_t last) { compute(begin + first, begin + last); });
    });
    return {};
  }

 private:
  float alpha_;
};

KernelResult MakeSwishKernel(const KernelSpec& spec, float alpha) {
  return MakeFloatKernel<SwishOperation>(spec, spec.primitive().GetFloat("alpha", alpha));
}

}  // namespace

KernelResult MakeSwish(const KernelSpec& spec) { return MakeSwishKernel(spec, 1); }
KernelResult MakeSwiGLU(const KernelSpec& spec) { return MakeSwishKernel(spec, 1); }
KernelResult MakeMicrosoft_QuickGelu(const KernelSpec& spec) { return MakeSwishKernel(spec, 1.702f); }

}  // namespace deputy::host
