// GridSample and AffineGrid, and ImageScaler and Crop, which old exporters put before a network of images, on the CPU.
#include <algorithm>
#include <array>
#include <type_traits>

#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "graph/inference/slicing.hpp"
#include "kernels/cast.hpp"
#include "kernels/copy.hpp"
#include "kernels/grid_sample.hpp"
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
    if (x.rank() != 4) return Error(StatusCode::kInvalidArgument, "input has rank {}, expected 4", x.rank());
    const size_t bias = primitive_.GetFloats("bias").size();
    if (bias != 0 && static_cast<uint64_t>(x.dim(1)) != bias)
      return Error(StatusCode::kInvalidArgument, "bias has {} elements, expected {}", bias, x.dim(1));
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
  if (x.rank() != 4) return Error(StatusCode::kInvalidArgument, "input has rank {}, expected 4", x.rank());
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

class GridSampleOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    GridShape shape;
    size_t workspace_bytes = 0;
  };

  explicit GridSampleOperation(GridSampling how) : how_(how) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), grid = args.input(1);
    const size_t rank = x.rank();
    if (rank < 3 || rank - 2 > kMaxGridAxes || grid.rank() != rank || grid.dim(0) != x.dim(0) ||
        grid.dim(rank - 1) != static_cast<int64_t>(rank - 2))
      return Error(StatusCode::kInvalidArgument, "shapes of X {} and grid {} do not match", ShapeToString(x.dims()),
                   ShapeToString(grid.dims()));
    const DType positions = ComputeType(grid.dtype());
    if (positions != DType::kFloat32 && positions != DType::kFloat64)
      return Error(StatusCode::kInvalidArgument, "grid has dtype {}, expected a float type", NameOf(grid.dtype()));
    Plan plan;
    // Beside 16-bit images the grid is widened with them.
    if (IsFloat16(grid.dtype()) && !IsFloat16(x.dtype()))
      plan.workspace_bytes = static_cast<size_t>(grid.element_count()) * sizeof(float);
    GridShape& shape = plan.shape;
    shape.batch = x.dim(0);
    shape.channels = x.dim(1);
    shape.axes = rank - 2;
    std::copy(x.dims().begin() + 2, x.dims().end(), shape.extents.begin());
    shape.points = ElementCount(grid.dims().subspan(1, rank - 2));
    SmallDims dims(x.dims().first(2));
    for (const int64_t extent : grid.dims().subspan(1, rank - 2)) dims.push_back(extent);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), dims, "the output"));
    if (ElementCount(x.dims().subspan(2)) == 0 && ElementCount(dims) != 0)
      return Error(StatusCode::kInvalidArgument, "X of shape {} is empty", ShapeToString(x.dims()));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ConstView x = args.input(0), grid = args.input(1);
    GridPositions positions{grid.dtype(), grid.data<char>()};
    if (IsFloat16(grid.dtype())) {
      Cast(grid.dtype(), positions.data, DType::kFloat32, workspace, grid.element_count(), args.pool);
      positions = {DType::kFloat32, workspace};
    }
    DispatchNumeric(x.dtype() == DType::kBool ? DType::kUint8 : x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      SampleGrid(plan.shape, how_, x.data<T>(), positions, args.output(0).data<T>(), args.pool);
    });
    return Status();
  }

 private:
  GridSampling how_;
};

template <class T>
class AffineGridOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    size_t axes = 0;
    size_t workspace_bytes = 0;
  };

  explicit AffineGridOperation(bool align_corners) : align_corners_(align_corners) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView theta = args.input(0);
    const MutableView grid = args.output(0);
    Plan plan;
    plan.axes = grid.rank() - 2;
    const int64_t axes = static_cast<int64_t>(plan.axes);
    const bool fits = grid.rank() >= 4 && plan.axes <= kMaxGridAxes && theta.rank() == 3 &&
                      theta.dim(0) == grid.dim(0) && theta.dim(1) == axes && theta.dim(2) == axes + 1 &&
                      grid.dim(grid.rank() - 1) == axes;
    if (!fits)
      return Error(StatusCode::kInvalidArgument, "theta of shape {} does not match a grid of shape {}",
                   ShapeToString(theta.dims()), ShapeToString(grid.dims()));
    return plan;
  }

  static constexpr int64_t kGrainPoints = 2048;

  // Positions are (x, y) or (x, y, z); the extents have the opposite order.
  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const MutableView grid = args.output(0);
    const std::span<const int64_t> extents = grid.dims().subspan(1, plan.axes);
    const int64_t axes = static_cast<int64_t>(plan.axes), width = extents[plan.axes - 1];
    const int64_t rows = ElementCount(extents.first(plan.axes - 1));  // of points that differ in x only
    if (width == 0) return Status();
    args.pool.ParallelFor(grid.dim(0) * rows, kGrainPoints / width + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::array<double, kMaxGridAxes> position{};
        int64_t rest = i % rows;
        for (size_t axis = plan.axes - 1; axis-- > 0;) {
          position[plan.axes - 1 - axis] = Position(rest % extents[axis], extents[axis]);
          rest /= extents[axis];
        }
        const T* matrix = args.input(0).data<T>() + i / rows * axes * (axes + 1);
        T* to = grid.data<T>() + i * width * axes;
        for (int64_t row = 0; row < axes; ++row) {
          double start = static_cast<double>(matrix[row * (axes + 1) + axes]);
          for (int64_t column = 1; column < axes; ++column)
            start += static_cast<double>(matrix[row * (axes + 1) + column]) * position[static_cast<size_t>(column)];
          const double factor = static_cast<double>(matrix[row * (axes + 1)]);
          for (int64_t x = 0; x < width; ++x) to[x * axes + row] = static_cast<T>(start + factor * Position(x, width));
        }
      }
    });
    return Status();
  }

 private:
  double Position(int64_t index, int64_t extent) const {
    const double i = static_cast<double>(index), n = static_cast<double>(extent);
    if (!align_corners_) return (2 * i + 1) / n - 1;
    // ONNX's definition divides by zero here; PyTorch, the origin of the operator, uses the middle.
    return extent == 1 ? 0 : 2 * i / (n - 1) - 1;
  }

  bool align_corners_;
};

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

KernelResult MakeGridSample(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  GridSampling how;
  const std::string_view mode = primitive.GetString("mode", "linear"),
                         padding = primitive.GetString("padding_mode", "zeros");
  how.align_corners = primitive.GetInt("align_corners", 0) != 0;
  if (mode == "nearest") {
    how.mode = GridMode::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {  // the latter up to opset 19
    how.mode = GridMode::kCubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return Error(StatusCode::kModel, "mode must be nearest, linear or cubic, got '{}'", mode);
  }
  if (padding == "border") {
    how.padding = GridPadding::kBorder;
  } else if (padding == "reflection") {
    how.padding = GridPadding::kReflection;
  } else if (padding != "zeros") {
    return Error(StatusCode::kModel, "padding_mode must be zeros, border or reflection, got '{}'", padding);
  }
  const DType dtype = spec.input_type(0).dtype;
  // Bools cannot be interpolated.
  if (dtype == DType::kBool ? how.mode != GridMode::kNearest : !IsNumeric(dtype)) return UnsupportedDType(spec);
  return MakePlannedKernel(spec, GridSampleOperation(how));
}

KernelResult MakeAffineGrid(const KernelSpec& spec) {
  return MakeFloatKernel<AffineGridOperation>(spec, spec.primitive().GetInt("align_corners", 0) != 0);
}

}  // namespace deputy::host
