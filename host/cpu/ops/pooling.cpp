// The pools on the CPU.
#include "kernels/pooling.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/cancellation.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "graph/inference/windows.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

struct PoolAttributes {
  Primitive primitive;  // owns the lists of the window
  Window window;
  PoolDivisor divisor = PoolDivisor::kInside;
  bool column_major = false;
};

struct PoolPlan {
  PoolShape shape;
  size_t workspace_bytes = 0;
};

Result<PoolPlan> PlanPool(const KernelArgs& args, const PoolAttributes& attributes) {
  const ConstView x = args.input(0);
  PoolPlan plan;
  PoolShape& shape = plan.shape;
  shape.window = attributes.window;
  const size_t rank = shape.window.rank + 2;
  if (x.rank() != rank)
    return Error(StatusCode::kInvalidArgument, "X has rank {}, expected {} for kernel_shape", x.rank(), rank);
  shape.planes = x.dim(0) * x.dim(1);
  std::copy(x.dims().begin() + 2, x.dims().end(), shape.in.begin());
  DEPUTY_RETURN_IF_ERROR(ResolvePoolWindow(shape.window, x.dims().subspan(2), shape.out));
  std::array<int64_t, kMaxWindowAxes + 2> dims = {x.dim(0), x.dim(1)};
  std::copy_n(shape.out.begin(), rank - 2, dims.begin() + 2);
  for (size_t i = 0; i < args.outputs.size(); ++i)
    if (args.output(i).present())
      DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(i).dims(), std::span(dims).first(rank), "the output"));
  if (args.output(1).present() && args.output(1).dtype() != DType::kInt64)
    return Error(StatusCode::kInvalidArgument, "Indices has dtype {}, expected int64", NameOf(args.output(1).dtype()));
  DropUnitAxes(shape.window, shape.in, shape.out);
  return plan;
}

template <class T>
class MaxPoolOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  using Plan = PoolPlan;

  explicit MaxPoolOperation(PoolAttributes attributes) : attributes_(std::move(attributes)) {}
  Result<Plan> MakePlan(const KernelArgs& args) const { return PlanPool(args, attributes_); }
  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const MutableView indices = args.output(1);
    MaxPool(plan.shape, args.input(0).data<T>(), args.output(0).data<T>(),
            indices.present() ? indices.data<int64_t>() : nullptr, attributes_.column_major, args.pool);
    return Status();
  }

 private:
  PoolAttributes attributes_;
};

template <class T>
class AveragePoolOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  using Plan = PoolPlan;

  explicit AveragePoolOperation(PoolAttributes attributes) : attributes_(std::move(attributes)) {}
  Result<Plan> MakePlan(const KernelArgs& args) const { return PlanPool(args, attributes_); }
  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    AveragePool(plan.shape, args.input(0).data<T>(), args.output(0).data<T>(), attributes_.divisor, args.pool);
    return Status();
  }

 private:
  PoolAttributes attributes_;
};

template <class T>
class GlobalPoolOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    int64_t planes, size;
    size_t workspace_bytes = 0;
  };

  explicit GlobalPoolOperation(bool maximum) : maximum_(maximum) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    if (x.rank() < 2) return Error(StatusCode::kInvalidArgument, "X has rank {}, expected 2 or higher", x.rank());
    Plan plan{x.dim(0) * x.dim(1), 1};
    for (const int64_t dim : x.dims().subspan(2)) plan.size *= dim;
    const MutableView y = args.output(0);
    bool fits = y.rank() == x.rank();
    for (size_t i = 0; fits && i < x.rank(); ++i) fits = y.dim(i) == (i < 2 ? x.dim(i) : 1);
    if (!fits)
      return Error(StatusCode::kInvalidArgument, "Y of shape {} does not match X of shape {}", ShapeToString(y.dims()),
                   ShapeToString(x.dims()));
    if (plan.size == 0 && plan.planes != 0)
      return Error(StatusCode::kInvalidArgument, "X of shape {} has empty spatial axes", ShapeToString(x.dims()));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const auto compute = maximum_ ? GlobalMaxPool<T> : GlobalAveragePool<T>;
    compute(plan.planes, plan.size, args.input(0).data<T>(), args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  bool maximum_;
};

Result<PoolAttributes> ReadPool(const Primitive& primitive) {
  PoolAttributes attributes;
  attributes.primitive = primitive;
  attributes.column_major = primitive.GetInt("storage_order", 0) != 0;
  DEPUTY_ASSIGN_OR_RETURN(attributes.window, MakeWindow(WindowOptionsOf(primitive)));
  // If no window is larger than the padded input, all taps are inside the padding unless ceil_mode adds a window. For a
  // larger one, ONNX Runtime counts all taps before the definition of opset 19, and from then on only those inside.
  const bool counts_all = primitive.since_version() < 19 && !attributes.window.ceil_mode;
  if (primitive.GetInt("count_include_pad", 0) != 0)
    attributes.divisor = counts_all ? PoolDivisor::kAll : PoolDivisor::kPadded;
  return attributes;
}

double RaisedTo(double value, int64_t p) {
  const double magnitude = std::fabs(value);
  return p == 1 ? magnitude : p == 2 ? magnitude * magnitude : std::pow(magnitude, static_cast<double>(p));
}

double RootOf(double sum, int64_t p) {
  return p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / static_cast<double>(p));
}

struct NormPoolAttributes {
  Primitive primitive;  // owns the lists of the window
  Window window;
  int64_t p;
};

template <class T>
class NormPool {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    int64_t planes = 0;
    Window window;
    SpatialDims in = {}, out = {};
    size_t workspace_bytes = 0;
  };

  explicit NormPool(NormPoolAttributes attributes) : attributes_(std::move(attributes)) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    Plan plan;
    plan.window = attributes_.window;
    const size_t rank = plan.window.rank + 2;
    if (x.rank() != rank)
      return Error(StatusCode::kInvalidArgument, "X has rank {}, expected {} for kernel_shape", x.rank(), rank);
    plan.planes = x.dim(0) * x.dim(1);
    std::copy(x.dims().begin() + 2, x.dims().end(), plan.in.begin());
    DEPUTY_RETURN_IF_ERROR(ResolvePoolWindow(plan.window, x.dims().subspan(2), plan.out));
    std::array<int64_t, kMaxWindowAxes + 2> dims = {x.dim(0), x.dim(1)};
    std::copy_n(plan.out.begin(), rank - 2, dims.begin() + 2);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), std::span(dims).first(rank), "the output"));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const size_t axes = plan.window.rank;
    const int64_t from = ElementCount({plan.in.data(), axes}), to = ElementCount({plan.out.data(), axes});
    T* const output = args.output(0).template data<T>();
    if (from == 0) {
      ZeroInParts(output, static_cast<size_t>(plan.planes * to) * sizeof(T));
      return Status();
    }
    int64_t taps = 1;  // elements of the largest window
    for (size_t axis = 0; axis < axes; ++axis) taps *= std::min(plan.window.axes[axis].kernel, plan.in[axis]);
    constexpr int64_t kGrainTaps = 4096, kMostTaps = 1 << 20;  // the latter between two checks whether the run ends
    args.pool.ParallelFor(plan.planes * to, kGrainTaps / taps + 1, [&](int64_t begin, int64_t end) {
      EndCheck check;
      InParts(end - begin, std::max<int64_t>(1, kMostTaps / taps), [&](int64_t first, int64_t last) {
        for (int64_t i = begin + first; i < begin + last; ++i) {
          SpatialDims position = {};
          for (int64_t rest = i % to, d = static_cast<int64_t>(axes); d-- > 0;) {
            position[static_cast<size_t>(d)] = rest % plan.out[static_cast<size_t>(d)];
            rest /= plan.out[static_cast<size_t>(d)];
          }
          const T* plane = args.input(0).template data<T>() + i / to * from;
          output[i] = static_cast<T>(RootOf(SumTaps(plan, position, 0, 0, plane, check), attributes_.p));
        }
      });
    });
    return Status();
  }

 private:
  // Over the taps inside the input, from the outermost axis inwards.
  double SumTaps(const Plan& plan, const SpatialDims& position, size_t axis, int64_t offset, const T* plane,
                 EndCheck& check) const {
    constexpr int64_t kStepsOfPower = 16;
    if (axis == plan.window.rank) return RaisedTo(static_cast<double>(plane[offset]), attributes_.p);
    const WindowAxis& window = plan.window.axes[axis];
    const TapRange taps = TapsInside(window, position[axis], plan.in[axis]);
    double sum = 0;
    for (int64_t tap = taps.first; tap < taps.last && !check.Ends(kStepsOfPower); ++tap) {
      const int64_t at = position[axis] * window.stride + tap * window.dilation - window.pad_begin;
      sum += SumTaps(plan, position, axis + 1, offset * plan.in[axis] + at, plane, check);
    }
    return sum;
  }

  NormPoolAttributes attributes_;
};

template <class T>
class GlobalNormPool {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    int64_t planes = 0, size = 0;
    size_t workspace_bytes = 0;
  };

  explicit GlobalNormPool(int64_t p) : p_(p) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    if (x.rank() < 2) return Error(StatusCode::kInvalidArgument, "X has rank {}, expected 2 or higher", x.rank());
    if (ElementCount(args.output(0).dims()) != x.dim(0) * x.dim(1))
      return Error(StatusCode::kInvalidArgument, "Y of shape {} does not match X of shape {}",
                   ShapeToString(args.output(0).dims()), ShapeToString(x.dims()));
    return Plan{x.dim(0) * x.dim(1), ElementCount(x.dims().subspan(2))};
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    ForEachUntilEnd(0, plan.planes, StepsOf(plan.size + 1, 16), [&](int64_t i) {
      const T* plane = args.input(0).data<T>() + i * plan.size;
      double sum = 0;
      constexpr int64_t kPart = 1 << 18;
      InParts(plan.size, kPart, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) sum += RaisedTo(static_cast<double>(plane[j]), p_);
      });
      args.output(0).data<T>()[i] = static_cast<T>(RootOf(sum, p_));
    });
    return Status();
  }

 private:
  int64_t p_;
};

Result<int64_t> PowerOf(const Primitive& primitive) {
  const int64_t p = primitive.GetInt("p", 2);
  if (p < 1) return Error(StatusCode::kModel, "p must be at least 1, got {}", p);
  return p;
}

}  // namespace

KernelResult MakeMaxPool(const KernelSpec& spec) {
  DEPUTY_ASSIGN_OR_RETURN(const PoolAttributes attributes, ReadPool(spec.primitive()));
  switch (spec.input_type(0).dtype) {
    case DType::kInt8: return MakePlannedKernel(spec, MaxPoolOperation<int8_t>(attributes));
    case DType::kUint8: return MakePlannedKernel(spec, MaxPoolOperation<uint8_t>(attributes));
    default: return MakeFloatKernel<MaxPoolOperation>(spec, attributes);
  }
}

KernelResult MakeAveragePool(const KernelSpec& spec) {
  DEPUTY_ASSIGN_OR_RETURN(const PoolAttributes attributes, ReadPool(spec.primitive()));
  return MakeFloatKernel<AveragePoolOperation>(spec, attributes);
}

KernelResult MakeGlobalMaxPool(const KernelSpec& spec) { return MakeFloatKernel<GlobalPoolOperation>(spec, true); }
KernelResult MakeGlobalAveragePool(const KernelSpec& spec) { return MakeFloatKernel<GlobalPoolOperation>(spec, false); }

KernelResult MakeLpPool(const KernelSpec& spec) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t p, PowerOf(spec.primitive()));
  DEPUTY_ASSIGN_OR_RETURN(const Window window, MakeWindow(WindowOptionsOf(spec.primitive())));
  return MakeFloatKernel<NormPool>(spec, NormPoolAttributes{spec.primitive(), window, p});
}

KernelResult MakeGlobalLpPool(const KernelSpec& spec) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t p, PowerOf(spec.primitive()));
  return MakeFloatKernel<GlobalNormPool>(spec, p);
}

}  // namespace deputy::host
