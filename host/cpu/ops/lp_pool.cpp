// LpPool and GlobalLpPool on the CPU.
#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "graph/inference/windows.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

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
      return Error(StatusCode::kInvalidArgument, "the input has rank {}, the window needs {}", x.rank(), rank);
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
    int64_t taps = 1;
    for (size_t axis = 0; axis < axes; ++axis) taps *= plan.window.axes[axis].kernel;
    constexpr int64_t kGrainTaps = 4096;
    args.pool.ParallelFor(plan.planes * to, kGrainTaps / std::max<int64_t>(taps, 1) + 1,
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                              SpatialDims position = {};
                              for (int64_t rest = i % to, d = static_cast<int64_t>(axes); d-- > 0;) {
                                position[static_cast<size_t>(d)] = rest % plan.out[static_cast<size_t>(d)];
                                rest /= plan.out[static_cast<size_t>(d)];
                              }
                              const T* plane = args.input(0).template data<T>() + i / to * from;
                              const double sum = SumTaps(plan, position, 0, 0, plane);
                              args.output(0).template data<T>()[i] = static_cast<T>(RootOf(sum, attributes_.p));
                            }
                          });
    return Status();
  }

 private:
  // Over the taps inside the input, from the outermost axis inwards.
  double SumTaps(const Plan& plan, const SpatialDims& position, size_t axis, int64_t offset, const T* plane) const {
    if (axis == plan.window.rank) return RaisedTo(static_cast<double>(plane[offset]), attributes_.p);
    const WindowAxis& window = plan.window.axes[axis];
    const TapRange taps = TapsInside(window, position[axis], plan.in[axis]);
    double sum = 0;
    for (int64_t tap = taps.first; tap < taps.last; ++tap) {
      const int64_t at = position[axis] * window.stride + tap * window.dilation - window.pad_begin;
      sum += SumTaps(plan, position, axis + 1, offset * plan.in[axis] + at, plane);
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
    if (x.rank() < 2) return Error(StatusCode::kInvalidArgument, "the input has rank {}", x.rank());
    if (ElementCount(args.output(0).dims()) != x.dim(0) * x.dim(1))
      return Error(StatusCode::kInvalidArgument, "the output has shape {} for an input of {}",
                   ShapeToString(args.output(0).dims()), ShapeToString(x.dims()));
    return Plan{x.dim(0) * x.dim(1), ElementCount(x.dims().subspan(2))};
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    for (int64_t i = 0; i < plan.planes; ++i) {
      const T* plane = args.input(0).data<T>() + i * plan.size;
      double sum = 0;
      for (int64_t j = 0; j < plan.size; ++j) sum += RaisedTo(static_cast<double>(plane[j]), p_);
      args.output(0).data<T>()[i] = static_cast<T>(RootOf(sum, p_));
    }
    return Status();
  }

 private:
  int64_t p_;
};

Result<int64_t> PowerOf(const Primitive& primitive) {
  const int64_t p = primitive.GetInt("p", 2);
  if (p < 1) return Error(StatusCode::kModel, "p is {}", p);
  return p;
}

}  // namespace

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
