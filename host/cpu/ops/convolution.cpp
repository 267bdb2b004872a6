// Conv, ConvTranspose and DeformConv of images on the CPU.
#include "kernels/convolution.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/checked.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "graph/inference/windows.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// The attributes; their lists live as long as the primitive.
struct ConvolutionAttributes {
  Primitive primitive;
  WindowOptions window;
  int64_t group;
  bool transposed;
  std::shared_ptr<const PackedWeights> packed;  // null: the weights are used as they are
};

Status CheckConvolution(const KernelArgs& args, const ConvolutionAttributes& attributes, ConvolutionShape& shape) {
  const ConstView x = args.input(0), w = args.input(1), bias = args.input(2);
  const size_t rank = x.rank();
  if (rank < 3 || w.rank() != rank)
    return Error(StatusCode::kInvalidArgument, "ranks of X {} and W {} must be equal, 3 or more", rank, w.rank());
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
    return Error(StatusCode::kInvalidArgument, "W of shape {} does not match {} input channels in {} groups",
                 ShapeToString(w.dims()), x.dim(1), shape.group);
  const std::optional<int64_t> filters = CheckedMultiply(w.dim(1), attributes.transposed ? shape.group : 1);
  if (!filters) return Error(StatusCode::kInvalidArgument, "{} groups of {} channels overflow", shape.group, w.dim(1));
  shape.out_channels = attributes.transposed ? *filters : w.dim(0);
  if (bias.present() && (bias.rank() != 1 || bias.dim(0) != shape.out_channels))
    return Error(StatusCode::kInvalidArgument, "B has shape {}, expected [{}]", ShapeToString(bias.dims()),
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
    plan.workspace_bytes = attributes_.transposed
                               ? TransposedConvolutionWorkspace<T>(plan.shape, args.pool)
                               : ConvolutionWorkspace<T>(plan.shape, args.pool, attributes_.packed.get());
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const T* const bias = args.input(2).present() ? args.input(2).data<T>() : nullptr;
    const T *const x = args.input(0).data<T>(), *const w = args.input(1).data<T>();
    T* const y = args.output(0).data<T>();
    if (attributes_.transposed)
      ConvolveTransposed(plan.shape, x, w, bias, y, workspace, args.pool);
    else
      Convolve(plan.shape, x, w, bias, y, workspace, args.pool, attributes_.packed.get());
    return Status();
  }

 private:
  ConvolutionAttributes attributes_;
};

// Null where they do not help; extents of images may not be known yet.
Result<std::shared_ptr<const PackedWeights>> Packed(const KernelSpec& spec, const ConvolutionAttributes& attributes) {
  std::shared_ptr<const PackedWeights> none;
  const Tensor* constant = spec.constant(1);
  if (constant == nullptr || ComputeType(constant->dtype()) != DType::kFloat32 || constant->shape().size() < 3)
    return none;
  const Shape& dims = constant->shape();
  ConvolutionShape shape;
  DEPUTY_ASSIGN_OR_RETURN(shape.window, WindowForWeights(attributes.window, std::span(dims).subspan(2)));
  shape.group = attributes.group;
  shape.in_channels = dims[1] * shape.group;
  shape.out_channels = dims[0];
  if (shape.out_channels % shape.group != 0) return none;
  Shape out(dims.size(), -1);
  if (spec.output_type(0).dims.size() == dims.size()) out = spec.output_type(0).dims;
  std::copy(out.begin() + 2, out.end(), shape.out.begin());
  DEPUTY_ASSIGN_OR_RETURN(const Tensor wide, Widened(*constant));
  auto packed = std::make_shared<const PackedWeights>(PackWeights(shape, static_cast<const float*>(wide.data())));
  if (packed->elements != nullptr) ReleasePages(spec, *constant);
  return packed;
}

KernelResult MakeConvolution(const KernelSpec& spec, bool transposed) {
  ConvolutionAttributes attributes{spec.primitive(), WindowOptionsOf(spec.primitive()),
                                   spec.primitive().GetInt("group", 1), transposed, nullptr};
  if (attributes.group < 1) return Error(StatusCode::kModel, "group must be at least 1, got {}", attributes.group);
  if (!transposed) {
    DEPUTY_ASSIGN_OR_RETURN(attributes.packed, Packed(spec, attributes));
  }
  return MakeFloatKernel<Convolution>(spec, attributes);
}

struct DeformableAttributes {
  Primitive primitive;  // owns the lists of the window
  WindowOptions window;
  int64_t group, offset_groups;
};

template <class T>
class Deformable {
 public:
  static constexpr uint32_t kTypedInputs = 0b11111, kTypedOutputs = 0b1;
  struct Plan {
    DeformableShape shape;
    size_t workspace_bytes = 0;
  };

  explicit Deformable(DeformableAttributes attributes) : attributes_(std::move(attributes)) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), w = args.input(1), offsets = args.input(2), bias = args.input(3);
    if (x.rank() != 4 || w.rank() != 4)
      return Error(StatusCode::kNotSupported, "DeformConv of rank {} is not supported, expected 4", x.rank());
    Plan plan;
    DeformableShape& shape = plan.shape;
    DEPUTY_ASSIGN_OR_RETURN(shape.window, WindowForWeights(attributes_.window, w.dims().subspan(2)));
    shape.batch = x.dim(0);
    shape.in_channels = x.dim(1);
    shape.out_channels = w.dim(0);
    shape.group = attributes_.group;
    shape.offset_groups = attributes_.offset_groups;
    if (x.dim(1) % shape.group != 0 || x.dim(1) / shape.group != w.dim(1) || w.dim(0) % shape.group != 0 ||
        x.dim(1) % shape.offset_groups != 0)
      return Error(StatusCode::kInvalidArgument, "W {} does not match {} channels in {} groups and {} offset groups",
                   ShapeToString(w.dims()), x.dim(1), shape.group, shape.offset_groups);
    std::copy(x.dims().begin() + 2, x.dims().end(), shape.in.begin());
    DEPUTY_RETURN_IF_ERROR(ResolveWindow(shape.window, x.dims().subspan(2), shape.out));
    const int64_t y_dims[] = {shape.batch, shape.out_channels, shape.out[0], shape.out[1]};
    const std::optional<int64_t> shifts = CheckedMultiply(shape.offset_groups, 2 * shape.taps());
    if (!shifts)
      return Error(StatusCode::kInvalidArgument, "{} offset groups do not match {} channels", shape.offset_groups,
                   x.dim(1));
    const int64_t offset_dims[] = {shape.batch, *shifts, shape.out[0], shape.out[1]};
    const int64_t mask_dims[] = {shape.batch, *shifts / 2, shape.out[0], shape.out[1]};
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), y_dims, "the output"));
    DEPUTY_RETURN_IF_ERROR(CheckDims(offsets.dims(), offset_dims, "offset"));
    if (args.input(4).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.input(4).dims(), mask_dims, "mask"));
    if (bias.present()) DEPUTY_RETURN_IF_ERROR(CheckDims(bias.dims(), {&shape.out_channels, 1}, "B"));
    plan.workspace_bytes = DeformableMemory<T>(shape, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const auto optional = [&](size_t i) { return args.input(i).present() ? args.input(i).data<T>() : nullptr; };
    ConvolveDeformed(DeformableArgs<T>{plan.shape, args.input(0).data<T>(), args.input(1).data<T>(),
                                       args.input(2).data<T>(), optional(3), optional(4), args.output(0).data<T>()},
                     static_cast<T*>(workspace), args.pool);
    return Status();
  }

 private:
  DeformableAttributes attributes_;
};

}  // namespace

KernelResult MakeConv(const KernelSpec& spec) { return MakeConvolution(spec, false); }
KernelResult MakeConvTranspose(const KernelSpec& spec) { return MakeConvolution(spec, true); }

KernelResult MakeDeformConv(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  DeformableAttributes attributes{primitive, WindowOptionsOf(primitive), primitive.GetInt("group", 1),
                                  primitive.GetInt("offset_group", 1)};
  if (attributes.group < 1 || attributes.offset_groups < 1)
    return Error(StatusCode::kModel, "group and offset_group must be at least 1, got {} and {}", attributes.group,
                 attributes.offset_groups);
  return MakeFloatKernel<Deformable>(spec, attributes);
}

}  // namespace deputy::host
