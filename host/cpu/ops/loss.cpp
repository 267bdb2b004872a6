// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss on the CPU.
#include <optional>

#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/untyped.hpp"
#include "kernels/gather.hpp"
#include "kernels/softmax.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

enum class LossReduction { kNone, kMean, kSum };

struct LossAttributes {
  LossReduction reduction;
  std::optional<int64_t> ignored;  // a class without loss
  bool softmax;                    // the scores are not logarithms yet
};

template <class T>
class Loss {
 public:
  static constexpr uint32_t kTypedInputs = 0b101, kTypedOutputs = 0b11;
  struct Plan {
    int64_t batch = 0, classes = 0, size = 0;
    size_t workspace_bytes = 0;
  };

  explicit Loss(LossAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView scores = args.input(0), target = args.input(1), weights = args.input(2);
    if (scores.rank() < 2 || target.rank() + 1 != scores.rank())
      return Error(StatusCode::kInvalidArgument, "scores {} and classes {} do not match", ShapeToString(scores.dims()),
                   ShapeToString(target.dims()));
    Plan plan{scores.dim(0), scores.dim(1), ElementCount(scores.dims().subspan(2))};
    SmallDims dims(scores.dims().first(1));
    for (const int64_t extent : scores.dims().subspan(2)) dims.push_back(extent);
    DEPUTY_RETURN_IF_ERROR(CheckDims(target.dims(), dims, "the list of classes"));
    if (target.dtype() != DType::kInt64 && target.dtype() != DType::kInt32)
      return Error(StatusCode::kInvalidArgument, "classes of {}", NameOf(target.dtype()));
    if (weights.present()) DEPUTY_RETURN_IF_ERROR(CheckDims(weights.dims(), {&plan.classes, 1}, "the list of weights"));
    if (attributes_.reduction != LossReduction::kNone) dims.truncate(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), dims, "the output"));
    if (args.output(1).present())
      DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(1).dims(), scores.dims(), "the logarithms"));
    const IndexList classes{target.data<void>(), target.element_count(), target.dtype()};
    for (int64_t i = 0; i < classes.count; ++i)
      if (classes[i] != attributes_.ignored && (classes[i] < 0 || classes[i] >= plan.classes))
        return Error(StatusCode::kInvalidArgument, "class {} is outside [0, {}]", classes[i], plan.classes - 1);
    if (attributes_.softmax && !args.output(1).present())
      plan.workspace_bytes = static_cast<size_t>(plan.batch * plan.classes * plan.size) * sizeof(T);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ConstView target = args.input(1);
    const IndexList classes{target.data<void>(), target.element_count(), target.dtype()};
    const T* logarithms = args.input(0).data<T>();
    if (attributes_.softmax) {
      T* const to = args.output(1).present() ? args.output(1).data<T>() : static_cast<T*>(workspace);
      const AxisView view{plan.batch, plan.classes, plan.size};
      Softmax(SoftmaxOp::kLogSoftmax, args.input(0).dtype(), view, logarithms, to, args.pool);
      logarithms = to;
    }
    const T* weights = args.input(2).present() ? args.input(2).data<T>() : nullptr;
    const bool each = attributes_.reduction == LossReduction::kNone;
    T* const y = args.output(0).data<T>();
    double sum = 0, weight_sum = 0;
    for (int64_t i = 0; i < classes.count; ++i) {
      const int64_t hit = classes[i];
      const bool ignored = hit == attributes_.ignored;
      const double weight = ignored ? 0.0 : weights == nullptr ? 1.0 : static_cast<double>(weights[hit]);
      const int64_t at = (i / plan.size * plan.classes + hit) * plan.size + i % plan.size;
      const double loss = ignored ? 0.0 : -weight * static_cast<double>(logarithms[at]);
      if (each) y[i] = static_cast<T>(loss);
      sum += loss;
      weight_sum += weight;
    }
    if (attributes_.reduction == LossReduction::kSum) *y = static_cast<T>(sum);
    if (attributes_.reduction == LossReduction::kMean) *y = static_cast<T>(sum / weight_sum);
    return Status();
  }

 private:
  LossAttributes attributes_;
};

KernelResult MakeLoss(const KernelSpec& spec, bool softmax) {
  const Primitive& primitive = spec.primitive();
  LossAttributes attributes{LossReduction::kMean, std::nullopt, softmax};
  const std::string_view reduction = primitive.GetString("reduction", "mean");
  if (reduction == "none") attributes.reduction = LossReduction::kNone;
  if (reduction == "sum") attributes.reduction = LossReduction::kSum;
  if (primitive.Has("ignore_index")) attributes.ignored = primitive.GetInt("ignore_index", 0);
  return MakeFloatKernel<Loss>(spec, attributes);
}

}  // namespace

KernelResult MakeNegativeLogLikelihoodLoss(const KernelSpec& spec) { return MakeLoss(spec, false); }
KernelResult MakeSoftmaxCrossEntropyLoss(const KernelSpec& spec) { return MakeLoss(spec, true); }

}  // namespace deputy::host
