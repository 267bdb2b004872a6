// RMSNormalization, GroupNormalization, LpNormalization and MeanVarianceNormalization on the CPU.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/normalization.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// Element `i` of floats of the kernel's type or wider ones; 16-bit floats were widened before.
double WideElement(ConstView view, int64_t i) {
  return view.dtype() == DType::kFloat64 ? view.data<double>()[i] : static_cast<double>(view.data<float>()[i]);
}

Status CheckFloats(const ConstView& view, const char* subject) {
  const DType dtype = ComputeType(view.dtype());
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return {};
  return Error(StatusCode::kInvalidArgument, "{} has dtype {}, expected a float type", subject, NameOf(view.dtype()));
}

template <class T>
class RootMeanSquare {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    int64_t rows = 0, size = 0;
    std::span<const int64_t> row;  // extents
    size_t workspace_bytes = 0;
  };

  RootMeanSquare(int64_t axis, float epsilon) : axis_(axis), epsilon_(epsilon) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), scale = args.input(1);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_, x.rank()));
    DEPUTY_RETURN_IF_ERROR(CheckFloats(scale, "scale"));
    if (IsFloat16(scale.dtype()) && !IsFloat16(x.dtype()))
      return Error(StatusCode::kNotSupported, "scale of {} for X of {} is not supported", NameOf(scale.dtype()),
                   NameOf(x.dtype()));
    Plan plan;
    plan.row = x.dims().subspan(axis);
    plan.size = ElementCount(plan.row);
    plan.rows = ElementCount(x.dims().first(axis));
    const std::span<const int64_t> dims = scale.dims();
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t dim = dims[dims.size() - 1 - i];
      if (dim != 1 && (i >= plan.row.size() || dim != plan.row[plan.row.size() - 1 - i]))
        return Error(StatusCode::kInvalidArgument, "scale of shape {} does not broadcast to {}", ShapeToString(dims),
                     ShapeToString(plan.row));
    }
    plan.workspace_bytes = static_cast<size_t>(plan.size) * sizeof(T);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ConstView scale = args.input(1);
    T* const row = static_cast<T*>(workspace);
    ForEachUntilEnd(0, plan.size, 16,
                    [&](int64_t i) { row[i] = static_cast<T>(WideElement(scale, OffsetIn(scale, plan.row, i))); });
    RootMeanSquareNormalize(plan.rows, plan.size, static_cast<double>(epsilon_), args.input(0).data<T>(), row,
                            args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  // The element of a scale that broadcasts to the row, for element `i` of the row.
  static int64_t OffsetIn(const ConstView& scale, std::span<const int64_t> row, int64_t i) {
    const std::span<const int64_t> dims = scale.dims();
    int64_t stride = 1, offset = 0;
    for (size_t axis = 0; axis < std::min(row.size(), dims.size()); ++axis) {  // from the innermost
      const int64_t extent = row[row.size() - 1 - axis], own = dims[dims.size() - 1 - axis];
      if (own != 1) offset += i % extent * stride;
      stride *= own;
      i /= extent;
    }
    return offset;
  }

  int64_t axis_;
  float epsilon_;
};

template <class T>
class GroupNormalizationOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b111, kTypedOutputs = 0b1;
  struct Plan {
    int64_t batch = 0, channels = 0, size = 0;
    size_t workspace_bytes = 0;
  };

  GroupNormalizationOperation(int64_t groups, float epsilon, bool by_group)
      : groups_(groups), epsilon_(epsilon), by_group_(by_group) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    if (x.rank() < 2 || x.dim(1) % groups_ != 0)
      return Error(StatusCode::kInvalidArgument, "the channels of X of shape {} are not divisible by num_groups ({})",
                   ShapeToString(x.dims()), groups_);
    Plan plan{x.dim(0), x.dim(1), ElementCount(x.dims().subspan(2))};
    const int64_t wanted = by_group_ ? groups_ : plan.channels;
    for (size_t i = 1; i <= 2; ++i) {
      const ConstView parameter = args.input(i);
      if (parameter.rank() != 1 || parameter.dim(0) != wanted)
        return Error(StatusCode::kInvalidArgument, "input {} has shape {}, expected [{}]", i,
                     ShapeToString(parameter.dims()), wanted);
    }
    plan.workspace_bytes = by_group_ ? 0 : 2 * static_cast<size_t>(groups_) * sizeof(T);
    return plan;
  }

  // The group is one plane of an instance normalization, followed by the scales by channel.
  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ChannelShape groups{plan.batch, groups_, plan.channels / groups_ * plan.size};
    const T *scale = args.input(1).data<T>(), *bias = args.input(2).data<T>();
    T* const y = args.output(0).data<T>();
    T* const ones = static_cast<T*>(workspace);
    if (!by_group_) {
      std::fill_n(ones, groups_, T(1));
      std::fill_n(ones + groups_, groups_, T(0));
    }
    InstanceNormalize(groups, args.input(0).data<T>(), by_group_ ? scale : ones, by_group_ ? bias : ones + groups_,
                      static_cast<double>(epsilon_), y, args.pool);
    if (!by_group_) ScaleChannels(ChannelShape{plan.batch, plan.channels, plan.size}, y, scale, bias, y, args.pool);
    return Status();
  }

 private:
  int64_t groups_;
  float epsilon_;
  bool by_group_;  // scale and bias, up to opset 20
};

template <class T>
class NormOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    AxisView view;
    size_t workspace_bytes = 0;
  };

  NormOperation(int64_t axis, int p) : axis_(axis), p_(p) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_, x.rank()));
    return Plan{ViewAlong(x.dims(), axis)};
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    NormNormalize(plan.view, p_, args.input(0).data<T>(), args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  int64_t axis_;
  int p_;
};

template <class T>
class MeanVariance {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    SmallDims kept_strides;  // zero for the axes that are averaged over
    int64_t kept = 1, count = 0;
    size_t workspace_bytes = 0;
  };

  explicit MeanVariance(std::vector<int64_t> axes) : axes_(std::move(axes)) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    Plan plan;
    plan.count = ElementCount(x.dims());
    plan.kept_strides = SmallDims(x.rank(), 1);
    for (const int64_t named : axes_) {
      DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(named, x.rank()));
      plan.kept_strides[axis] = 0;
    }
    for (size_t d = x.rank(); d-- > 0;) {
      if (plan.kept_strides[d] == 0) continue;
      plan.kept_strides[d] = plan.kept;
      plan.kept *= x.dim(d);
    }
    plan.workspace_bytes = 2 * static_cast<size_t>(plan.kept) * sizeof(double);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    if (plan.count == 0) return Status();
    double* const means = static_cast<double*>(workspace);
    double* const deviations = means + plan.kept;
    const T* x = args.input(0).data<T>();
    T* y = args.output(0).data<T>();
    const double share = static_cast<double>(plan.kept) / static_cast<double>(plan.count);
    std::fill_n(means, 2 * plan.kept, 0.0);
    ForEachRow(plan, args, [&](int64_t i, int64_t at, int64_t count, bool along) {
      if (along)
        for (int64_t j = 0; j < count; ++j) means[at + j] += static_cast<double>(x[i + j]) * share;
      else
        means[at] += SumOf(x + i, count) * share;
    });
    ForEachRow(plan, args, [&](int64_t i, int64_t at, int64_t count, bool along) {
      if (along)
        for (int64_t j = 0; j < count; ++j)
          deviations[at + j] += Square(static_cast<double>(x[i + j]) - means[at + j]) * share;
      else
        deviations[at] += SumOfDistances(x + i, count, means[at]) * share;
    });
    // The definition adds its epsilon to the deviation, not to the variance.
    for (int64_t i = 0; i < plan.kept; ++i) deviations[i] = 1 / (std::sqrt(deviations[i]) + 1e-9);
    ForEachRow(plan, args, [&](int64_t i, int64_t at, int64_t count, bool along) {
      if (along) {
        for (int64_t j = 0; j < count; ++j)
          y[i + j] = static_cast<T>((static_cast<double>(x[i + j]) - means[at + j]) * deviations[at + j]);
      } else {
        const double mean = means[at], factor = deviations[at];
        for (int64_t j = 0; j < count; ++j) y[i + j] = static_cast<T>((static_cast<double>(x[i + j]) - mean) * factor);
      }
    });
    return Status();
  }

 private:
  // fn(element, index of its statistics)
  static double Square(double value) { return value * value; }
  static double SumOf(const T* x, int64_t count) {
    if constexpr (std::is_same_v<T, float>) return linalg::Sum(x, count);
    double sum = 0;
    for (int64_t j = 0; j < count; ++j) sum += static_cast<double>(x[j]);
    return sum;
  }
  static double SumOfDistances(const T* x, int64_t count, double mean) {
    if constexpr (std::is_same_v<T, float>) return linalg::SumOfSquares(x, count, mean);
    double sum = 0;
    for (int64_t j = 0; j < count; ++j) sum += Square(static_cast<double>(x[j]) - mean);
    return sum;
  }

  // Calls fn(first element, index of its mean, elements, whether the means advance with them) for every innermost row.
  template <class F>
  static void ForEachRow(const Plan& plan, const KernelArgs& args, F fn) {
    const std::span<const int64_t> dims = args.input(0).dims();
    if (dims.empty()) return fn(0, 0, 1, false);
    const size_t last = dims.size() - 1;
    SmallDims index(last, 0);
    int64_t at = 0;
    CancellationScope* const scope = CancellationScope::Current();
    int64_t unchecked = 0;  // elements since the last check whether the run ends
    for (int64_t i = 0; i < plan.count; i += dims[last]) {
      if (unchecked += dims[last]; unchecked > kLongRow) {
        if (scope != nullptr && scope->Ends()) return;
        unchecked = 0;
      }
      const bool along = plan.kept_strides[last] != 0;
      InParts(dims[last], kLongRow,
              [&](int64_t first, int64_t stop) { fn(i + first, along ? at + first : at, stop - first, along); });
      for (size_t d = last; d-- > 0;) {
        at += plan.kept_strides[d];
        if (++index[d] < dims[d]) break;
        at -= plan.kept_strides[d] * dims[d];
        index[d] = 0;
      }
    }
  }

  std::vector<int64_t> axes_;
};

}  // namespace

KernelResult MakeRMSNormalization(const KernelSpec& spec) {
  return MakeFloatKernel<RootMeanSquare>(spec, spec.primitive().GetInt("axis", -1),
                                         spec.primitive().GetFloat("epsilon", 1e-5f));
}

KernelResult MakeGroupNormalization(const KernelSpec& spec) {
  const int64_t groups = spec.primitive().GetInt("num_groups", 0);
  if (groups < 1) return Error(StatusCode::kModel, "num_groups must be at least 1, got {}", groups);
  return MakeFloatKernel<GroupNormalizationOperation>(spec, groups, spec.primitive().GetFloat("epsilon", 1e-5f),
                                                      spec.primitive().since_version() < 21);
}

KernelResult MakeLpNormalization(const KernelSpec& spec) {
  const int64_t p = spec.primitive().GetInt("p", 2);
  if (p != 1 && p != 2) return Error(StatusCode::kModel, "p must be 1 or 2, got {}", p);
  return MakeFloatKernel<NormOperation>(spec, spec.primitive().GetInt("axis", -1), static_cast<int>(p));
}

KernelResult MakeMeanVarianceNormalization(const KernelSpec& spec) {
  const std::span<const int64_t> axes = spec.primitive().GetInts("axes");
  std::vector<int64_t> list(axes.begin(), axes.end());
  if (!spec.primitive().Has("axes")) list = {0, 2, 3};
  return MakeFloatKernel<MeanVariance>(spec, list);
}

}  // namespace deputy::host
