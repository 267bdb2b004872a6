// ImageScaler and Crop on the CPU: operators that old exporters put before a network of images.
#include <algorithm>
#include <array>
#include <type_traits>

#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/untyped.hpp"
#include "graph/inference/slicing.hpp"
#include "kernels/copy.hpp"
#include "kernels/linalg/rows.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// scale * x + bias of the channel
template <class T>
class ImageScaler {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    int64_t planes = 0, channels = 0, size = 0;
    size_t workspace_bytes = 0;
  };

  ImageScaler(const Primitive& primitive, float scale) : primitive_(primitive), scale_(scale) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    if (x.rank() != 4) return Error(StatusCode::kInvalidArgument, "the input has rank {}, 4 is needed", x.rank());
    const size_t bias = primitive_.GetFloats("bias").size();
    if (bias != 0 && static_cast<uint64_t>(x.dim(1)) != bias)
      return Error(StatusCode::kInvalidArgument, "bias has {} values for {} channels", bias, x.dim(1));
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    return Plan{x.dim(0) * x.dim(1), x.dim(1), x.dim(2) * x.dim(3)};
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const T* const x = args.input(0).data<T>();
    T* const y = args.output(0).data<T>();
    const std::span<const float> biases = primitive_.GetFloats("bias");
    args.pool.ParallelFor(plan.planes, 16384 / std::max<int64_t>(1, plan.size) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const float bias = biases.empty() ? 0 : biases[static_cast<size_t>(plane % plan.channels)];
        const T* const from = x + plane * plan.size;
        T* const to = y + plane * plan.size;
        if constexpr (std::is_same_v<T, float>)
          linalg::Apply(linalg::RowFunction::kAffine, from, plan.size, scale_, bias, to);
        else
          for (int64_t i = 0; i < plan.size; ++i) to[i] = static_cast<T>(scale_) * from[i] + static_cast<T>(bias);
      }
    });
    return {};
  }

 private:
  Primitive primitive_;  // owns the biases
  float scale_;
};

Status RunCrop(const KernelArgs& args, const std::array<CropAxis, 2>& axes) {
  const ConstView x = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(x));
  if (x.rank() != 4) return Error(StatusCode::kInvalidArgument, "the input has rank {}, 4 is needed", x.rank());
  const SmallDims source_strides = DenseStrides(x.dims());
  SmallDims dims(x.dims());
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    Result<int64_t> extent = CroppedExtent(axes[i], x.dim(i + 2));
    if (!extent.ok()) return std::move(extent).status().WithCode(StatusCode::kInvalidArgument);
    dims[i + 2] = *extent;
    first += axes[i].before * source_strides[i + 2];
  }
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, x.dtype(), dims));
  if (y.byte_size() == 0) return {};
  const SmallDims target_strides = DenseStrides(dims);
  StridedCopy copy;
  for (size_t d = 0; d < dims.size(); ++d) copy.Add(dims[d], source_strides[d], target_strides[d]);
  CopyStrided(copy, x.data<char>() + static_cast<size_t>(first) * element, y.data<char>(), element, args.pool);
  return {};
}

}  // namespace

KernelResult MakeImageScaler(const KernelSpec& spec) {
  return MakeFloatKernel<ImageScaler>(spec, spec.primitive(), spec.primitive().GetFloat("scale", 1.0f));
}

KernelResult MakeCrop(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  DEPUTY_ASSIGN_OR_RETURN(const auto axes, ReadCrop(spec.primitive()));
  return KernelOf([axes](const KernelArgs& args) { return RunCrop(args, axes); });
}

}  // namespace deputy::host
