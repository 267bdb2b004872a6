// Conv and ConvTranspose on the CPU.
#include "kernels/convolution.hpp"

#include <algorithm>
#include <optional>

#include "base/checked.hpp"
#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "graph/inference/windows.hpp"

namespace deputy::host {
namespace {

// The attributes; their lists live as long as the primitive.
struct ConvolutionAttributes {
  Primitive primitive;
  WindowOptions window;
  int64_t group;
  bool transposed;
};

Status CheckConvolution(const KernelArgs& args, const ConvolutionAttributes& attributes, ConvolutionShape& shape) {
  const ConstView x = args.input(0), w = args.input(1), bias = args.input(2);
  const size_t rank = x.rank();
  if (rank < 3 || w.rank() != rank)
    return Error(StatusCode::kInvalidArgument, "input has rank {}, weights have rank {}", rank, w.rank());
  DEPUTY_ASSIGN_OR_RETURN(shape.window, WindowForWeights(attributes.window, w.dims().subspan(2)));
  shape.batch = x.dim(0);
  shape.group = attributes.group;
  shape.in_channels = x.dim(1);
  // A group that does not fit the weights is refused before it is multiplied.
  const int64_t grouped = w.dim(attributes.transposed ? 0 : 1);
  const bool fits = attributes.transposed ? grouped == x.dim(1) && grouped % shape.group == 0
                                          : x.dim(1) % shape.group == 0 && x.dim(1) / shape.group == grouped &&
                                                w.dim(0) % shape.group == 0;
  if (!fits)
    return Error(StatusCode::kInvalidArgument, "weights of shape {} do not fit {} channels in {} groups",
                 ShapeToString(w.dims()), x.dim(1), shape.group);
  const std::optional<int64_t> filters = CheckedMultiply(w.dim(1), attributes.transposed ? shape.group : 1);
  if (!filters) return Error(StatusCode::kInvalidArgument, "{} groups of {} channels", shape.group, w.dim(1));
  shape.out_channels = attributes.transposed ? *filters : w.dim(0);
  if (bias.present() && (bias.rank() != 1 || bias.dim(0) != shape.out_channels))
    return Error(StatusCode::kInvalidArgument, "bias has shape {}, {} values are needed", ShapeToString(bias.dims()),
                 shape.out_channels);
  std::copy(x.dims().begin() + 2, x.dims().end(), shape.in.begin());
  DEPUTY_RETURN_IF_ERROR(attributes.transposed ? ResolveTransposedWindow(shape.window, x.dims().subspan(2), shape.out)
                                               : ResolveWindow(shape.window, x.dims().subspan(2), shape.out));
  std::array<int64_t, kMaxWindowAxes + 2> dims = {shape.batch, shape.out_channels};
  std::copy_n(shape.out.begin(), rank - 2, dims.begin() + 2);
  DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), std::span(dims).first(rank), "the output"));
  DropUnitAxes(shape.window, shape.in, shape.out);
  return Status();
}

template <class T>
class Convolution {
 public:
  static constexpr uint32_t kTypedInputs = 0b111, kTypedOutputs = 0b1;
  struct Plan {
    ConvolutionShape shape;
    size_t workspace_bytes;
  };

  explicit Convolution(ConvolutionAttributes attributes) : attributes_(std::move(attributes)) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    Plan plan;
    DEPUTY_RETURN_IF_ERROR(CheckConvolution(args, attributes_, plan.shape));
    plan.workspace_bytes = attributes_.transposed ? TransposedConvolutionWorkspace<T>(plan.shape, args.pool)
                                                  : ConvolutionWorkspace<T>(plan.shape, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const auto compute = attributes_.transposed ? ConvolveTransposed<T> : Convolve<T>;
    compute(plan.shape, args.input(0).data<T>(), args.input(1).data<T>(),
            args.input(2).present() ? args.input(2).data<T>() : nullptr, args.output(0).data<T>(), workspace,
            args.pool);
    return Status();
  }

 private:
  ConvolutionAttributes attributes_;
};

KernelResult MakeConvolution(const KernelSpec& spec, bool transposed) {
  ConvolutionAttributes attributes{spec.primitive(), WindowOptionsOf(spec.primitive()),
                                   spec.primitive().GetInt("group", 1), transposed};
  if (attributes.group < 1) return Error(StatusCode::kModel, "group is {}", attributes.group);
  return MakeFloatKernel<Convolution>(spec, attributes);
}

}  // namespace

KernelResult MakeConv(const KernelSpec& spec) { return MakeConvolution(spec, false); }
KernelResult MakeConvTranspose(const KernelSpec& spec) { return MakeConvolution(spec, true); }

}  // namespace deputy::host
