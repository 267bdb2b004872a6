// The pools on the CPU.
#include "kernels/pooling.hpp"

#include <algorithm>

#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "graph/inference/windows.hpp"

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
    return Error(StatusCode::kInvalidArgument, "the input has rank {}, the window needs {}", x.rank(), rank);
  shape.planes = x.dim(0) * x.dim(1);
  std::copy(x.dims().begin() + 2, x.dims().end(), shape.in.begin());
  DEPUTY_RETURN_IF_ERROR(ResolvePoolWindow(shape.window, x.dims().subspan(2), shape.out));
  std::array<int64_t, kMaxWindowAxes + 2> dims = {x.dim(0), x.dim(1)};
  std::copy_n(shape.out.begin(), rank - 2, dims.begin() + 2);
  for (size_t i = 0; i < args.outputs.size(); ++i)
    if (args.output(i).present())
      DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(i).dims(), std::span(dims).first(rank), "the output"));
  if (args.output(1).present() && args.output(1).dtype() != DType::kInt64)
    return Error(StatusCode::kInvalidArgument, "indices are {}, int64 is needed", NameOf(args.output(1).dtype()));
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
    if (x.rank() < 2) return Error(StatusCode::kInvalidArgument, "the input has rank {}", x.rank());
    Plan plan{x.dim(0) * x.dim(1), 1};
    for (const int64_t dim : x.dims().subspan(2)) plan.size *= dim;
    const MutableView y = args.output(0);
    bool fits = y.rank() == x.rank();
    for (size_t i = 0; fits && i < x.rank(); ++i) fits = y.dim(i) == (i < 2 ? x.dim(i) : 1);
    if (!fits)
      return Error(StatusCode::kInvalidArgument, "the output has shape {} for an input of {}", ShapeToString(y.dims()),
                   ShapeToString(x.dims()));
    if (plan.size == 0 && plan.planes != 0)
      return Error(StatusCode::kInvalidArgument, "input of shape {} has nothing to pool", ShapeToString(x.dims()));
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

}  // namespace deputy::host
