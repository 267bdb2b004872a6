// Kernels of the operators along axes: reductions, ArgMax and ArgMin, softmax, cumulative sums,
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <algorithm>
#include <array>
#include <optional>

#include "base/aligned.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/indexing.hpp"
#include "kernels/parts.hpp"
#include "kernels/reduce.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// Calls compute(source, target) with the elements of input 0 and output 0, both of `dtype`; 16-bit floats are widened
// to float32 first and, if the output has them too, the results are rounded.
template <class F>
Status ComputeWide(const KernelArgs& args, DType dtype, F compute) {
  const ConstView input = args.input(0);
  const MutableView output = args.output(0);
  if (!IsFloat16(dtype)) {
    compute(input.data<char>(), output.data<char>());
    return {};
  }
  const bool narrow = output.dtype() == dtype;
  const size_t source_bytes = AlignUp(input.byte_size() * 2);
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(source_bytes + (narrow ? output.byte_size() * 2 : 0)));
  char* const source = static_cast<char*>(memory);
  char* const target = narrow ? source + source_bytes : output.data<char>();
  Cast(dtype, input.data<char>(), DType::kFloat32, source, input.element_count(), args.pool);
  compute(source, target);
  if (narrow) Cast(DType::kFloat32, target, dtype, output.data<char>(), output.element_count(), args.pool);
  return {};
}

// Extents with the flagged axes removed, or kept as ones.
SmallDims ReducedDims(std::span<const int64_t> dims, std::span<const uint8_t> reduce, bool keep) {
  SmallDims reduced;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (reduce[axis] == 0)
      reduced.push_back(dims[axis]);
    else if (keep)
      reduced.push_back(1);
  }
  return reduced;
}

class ReduceKernel final : public CpuKernel {
 public:
  ReduceKernel(const KernelSpec& spec, ReduceOp op)
      : op_(op),
        dtype_(spec.input_type(0).dtype),
        keep_(spec.primitive().GetInt("keepdims", 1) != 0),
        empty_is_none_(spec.primitive().GetInt("noop_with_empty_axes", 0) != 0),
        axes_(spec.primitive().GetInts("axes")) {}

  Status Run(const KernelArgs& args) const override {
    const ConstView input = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, dtype_));
    std::array<uint8_t, kMaxBroadcastRank> flags = {};
    if (input.rank() > flags.size()) return Error(StatusCode::kNotSupported, "rank {} is not supported", input.rank());
    const std::span<uint8_t> reduce(flags.data(), input.rank());
    DEPUTY_RETURN_IF_ERROR(FlagAxes(args, reduce));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), dtype_, ReducedDims(input.dims(), reduce, keep_)));
    DEPUTY_ASSIGN_OR_RETURN(const ReducePlan plan, PlanReduce(input.dims(), reduce));
    return ComputeWide(args, dtype_, [&](const void* source, void* target) {
      Reduce(op_, ComputeType(dtype_), plan, source, target, args.pool);
    });
  }

 private:
  Status FlagAxes(const KernelArgs& args, std::span<uint8_t> reduce) const {
    SmallDims axes = axes_;
    if (args.input(1).present()) {
      DEPUTY_ASSIGN_OR_RETURN(axes, ReadInts(args.input(1), "axes"));
    }
    for (const int64_t axis : axes) {
      DEPUTY_ASSIGN_OR_RETURN(const size_t at, ResolveAxis(axis, reduce.size()));
      reduce[at] = 1;
    }
    if (axes.empty() && !empty_is_none_) std::fill(reduce.begin(), reduce.end(), uint8_t{1});
    return {};
  }

  ReduceOp op_;
  DType dtype_;
  bool keep_, empty_is_none_;
  SmallDims axes_;
};

KernelResult MakeReduce(const KernelSpec& spec, ReduceOp op) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  if (!SupportsReduce(op, ComputeType(spec.input_type(0).dtype))) return UnsupportedDType(spec);
  return KernelResult(std::make_unique<ReduceKernel>(spec, op));
}

KernelResult MakeArgReduce(const KernelSpec& spec, bool largest) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  if (!IsNumeric(dtype)) return UnsupportedDType(spec);
  const int64_t axis = spec.primitive().GetInt("axis", 0);
  const bool keep = spec.primitive().GetInt("keepdims", 1) != 0;
  const bool last = spec.primitive().GetInt("select_last_index", 0) != 0;
  return KernelOf([=](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, dtype));
    DEPUTY_ASSIGN_OR_RETURN(const size_t at, ResolveAxis(axis, input.rank()));
    SmallDims dims;
    for (size_t i = 0; i < input.rank(); ++i)
      if (i != at || keep) dims.push_back(i == at ? 1 : input.dim(i));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kInt64, dims));
    Status status;
    DEPUTY_RETURN_IF_ERROR(ComputeWide(args, dtype, [&](const void* source, void* target) {
      status = ArgReduce(largest, last, ComputeType(dtype), ViewAlong(input.dims(), at), source,
                         static_cast<int64_t*>(target), args.pool);
    }));
    return status;
  });
}

KernelResult MakeSoftmaxKind(const KernelSpec& spec, SoftmaxOp op) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  if (!IsFloating(dtype)) return UnsupportedDType(spec);
  // Before 13 all axes from `axis` on are normalized together.
  const bool splits = spec.primitive().since_version() < 13;
  const int64_t axis = spec.primitive().GetInt("axis", splits ? 1 : -1);
  return KernelOf([=](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), dtype, input.dims()));
    AxisView view;
    if (splits && axis == static_cast<int64_t>(input.rank())) {
      view.outer = input.element_count();
    } else {
      DEPUTY_ASSIGN_OR_RETURN(const size_t at, ResolveAxis(axis, input.rank()));
      view = ViewAlong(input.dims(), at);
    }
    if (splits) view = {view.outer, view.extent * view.inner, 1};
    return ComputeWide(args, dtype, [&](const void* source, void* target) {
      Softmax(op, ComputeType(dtype), view, source, target, args.pool);
    });
  });
}

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
      return Error(StatusCode::kInvalidArgument, "scores {} and target {} are not [N,C,...] and [N,...]",
                   ShapeToString(scores.dims()), ShapeToString(target.dims()));
    Plan plan{scores.dim(0), scores.dim(1), ElementCount(scores.dims().subspan(2))};
    SmallDims dims(scores.dims().first(1));
    for (const int64_t extent : scores.dims().subspan(2)) dims.push_back(extent);
    DEPUTY_RETURN_IF_ERROR(CheckDims(target.dims(), dims, "target"));
    if (target.dtype() != DType::kInt64 && target.dtype() != DType::kInt32)
      return Error(StatusCode::kInvalidArgument, "target is {}, expected int32 or int64", NameOf(target.dtype()));
    if (weights.present()) DEPUTY_RETURN_IF_ERROR(CheckDims(weights.dims(), {&plan.classes, 1}, "weight"));
    if (attributes_.reduction != LossReduction::kNone) dims.truncate(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), dims, "the output"));
    if (args.output(1).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(1).dims(), scores.dims(), "log_prob"));
    const IndexList classes{target.data<void>(), target.element_count(), target.dtype()};
    EndCheck check;
    for (int64_t i = 0; i < classes.count && !check.Ends(2); ++i)
      if (classes[i] != attributes_.ignored && (classes[i] < 0 || classes[i] >= plan.classes))
        return Error(StatusCode::kInvalidArgument, "class {} is outside [0, {}]", classes[i], plan.classes - 1);
    DEPUTY_RETURN_IF_ERROR(CheckComplete());
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
    EndCheck check;
    for (int64_t i = 0; i < classes.count && !check.Ends(8); ++i) {
      const int64_t hit = classes[i];
      const bool ignored = hit == attributes_.ignored;
      double weight = 0, loss = 0;
      if (!ignored) {
        weight = weights == nullptr ? 1.0 : static_cast<double>(weights[hit]);
        const int64_t at = (i / plan.size * plan.classes + hit) * plan.size + i % plan.size;
        loss = -weight * static_cast<double>(logarithms[at]);
      }
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

KernelResult MakeCumulative(const KernelSpec& spec, CumulativeOp op) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  if (!SupportsReduce(ReduceOp::kSum, ComputeType(dtype))) return UnsupportedDType(spec);  // the same types
  const bool exclusive = spec.primitive().GetInt("exclusive", 0) != 0;
  const bool reverse = spec.primitive().GetInt("reverse", 0) != 0;
  return KernelOf([=](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(input, dtype));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), dtype, input.dims()));
    DEPUTY_ASSIGN_OR_RETURN(const SmallDims axis, ReadInts(args.input(1), "axis"));
    if (axis.size() != 1) return Error(StatusCode::kInvalidArgument, "axis has {} elements, expected 1", axis.size());
    DEPUTY_ASSIGN_OR_RETURN(const size_t at, ResolveAxis(axis[0], input.rank()));
    return ComputeWide(args, dtype, [&](const void* source, void* target) {
      Cumulate(op, ComputeType(dtype), ViewAlong(input.dims(), at), exclusive, reverse, source, target, args.pool);
    });
  });
}

}  // namespace

#define DEPUTY_MAKE_REDUCE(name) \
  KernelResult MakeReduce##name(const KernelSpec& spec) { return MakeReduce(spec, ReduceOp::k##name); }
DEPUTY_MAKE_REDUCE(L1)
DEPUTY_MAKE_REDUCE(L2)
DEPUTY_MAKE_REDUCE(LogSum)
DEPUTY_MAKE_REDUCE(LogSumExp)
DEPUTY_MAKE_REDUCE(Max)
DEPUTY_MAKE_REDUCE(Mean)
DEPUTY_MAKE_REDUCE(Min)
DEPUTY_MAKE_REDUCE(Prod)
DEPUTY_MAKE_REDUCE(Sum)
DEPUTY_MAKE_REDUCE(SumSquare)
#undef DEPUTY_MAKE_REDUCE

KernelResult MakeArgMax(const KernelSpec& spec) { return MakeArgReduce(spec, true); }
KernelResult MakeArgMin(const KernelSpec& spec) { return MakeArgReduce(spec, false); }

KernelResult MakeSoftmax(const KernelSpec& spec) { return MakeSoftmaxKind(spec, SoftmaxOp::kSoftmax); }
KernelResult MakeLogSoftmax(const KernelSpec& spec) { return MakeSoftmaxKind(spec, SoftmaxOp::kLogSoftmax); }
KernelResult MakeHardmax(const KernelSpec& spec) { return MakeSoftmaxKind(spec, SoftmaxOp::kHardmax); }

KernelResult MakeCumProd(const KernelSpec& spec) { return MakeCumulative(spec, CumulativeOp::kProduct); }
KernelResult MakeCumSum(const KernelSpec& spec) { return MakeCumulative(spec, CumulativeOp::kSum); }

KernelResult MakeNegativeLogLikelihoodLoss(const KernelSpec& spec) { return MakeLoss(spec, false); }
KernelResult MakeSoftmaxCrossEntropyLoss(const KernelSpec& spec) { return MakeLoss(spec, true); }

}  // namespace deputy::host
