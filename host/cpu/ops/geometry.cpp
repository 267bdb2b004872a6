// CenterCropPad, Col2Im, MaxUnpool and Det on the CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/cancellation.hpp"
#include "base/checked.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "graph/inference/windows.hpp"
#include "kernels/columns.hpp"
#include "kernels/copy.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// The padding or cropping is divided in halves; an odd number gives the end one more in both cases.
Status RunCenterCropPad(const KernelArgs& args) {
  const ConstView input = args.input(0);
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, input.dtype(), output.dims()));
  if (output.rank() != input.rank()) return Error(StatusCode::kInternal, "input and output differ in rank");
  if (output.byte_size() == 0) return {};
  const SmallDims input_strides = DenseStrides(input.dims()), output_strides = DenseStrides(output.dims());
  StridedCopy copy;
  int64_t from = 0, to = 0;
  bool empty = false;
  for (size_t d = 0; d < input.rank(); ++d) {
    const int64_t have = input.dim(d), want = output.dim(d);
    copy.Add(std::min(have, want), input_strides[d], output_strides[d]);
    from += have > want ? (have - want) / 2 * input_strides[d] : 0;
    to += want > have ? (want - have) / 2 * output_strides[d] : 0;
    empty = empty || have == 0;
  }
  FillZero(output.data<char>(), output.byte_size(), args.pool);
  if (empty) return {};
  CopyStrided(copy, input.data<char>() + static_cast<size_t>(from) * element,
              output.data<char>() + static_cast<size_t>(to) * element, element, args.pool);
  return {};
}

// Increments an index over any number of axes, the last axis first.
bool Advance(std::span<const int64_t> dims, SmallDims& index) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

struct ColumnsAttributes {
  Primitive primitive;
  std::span<const int64_t> dilations, pads, strides;
};

// What does not depend on the element type.
class ColumnsPlanner {
 public:
  struct Plan {
    SmallDims image, block;
    Window window;
    SpatialDims steps = {};  // positions of the window
    size_t workspace_bytes = 0;
  };

  explicit ColumnsPlanner(ColumnsAttributes attributes) : attributes_(std::move(attributes)) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView columns = args.input(0);
    Plan plan;
    DEPUTY_ASSIGN_OR_RETURN(plan.image, ReadInts(args.input(1), "image_shape"));
    DEPUTY_ASSIGN_OR_RETURN(plan.block, ReadInts(args.input(2), "block_shape"));
    WindowOptions options;
    options.kernel = {plan.block.data(), plan.block.size()};
    options.dilations = attributes_.dilations;
    options.pads = attributes_.pads;
    options.strides = attributes_.strides;
    DEPUTY_ASSIGN_OR_RETURN(plan.window, MakeWindow(options));
    const std::span<const int64_t> image(plan.image.data(), plan.image.size());
    if (image.size() != plan.window.rank)
      return Error(StatusCode::kInvalidArgument, "image_shape has {} elements, expected {} as in block_shape",
                   image.size(), plan.window.rank);
    DEPUTY_RETURN_IF_ERROR(ResolveWindow(plan.window, image, plan.steps));
    const MutableView output = args.output(0);
    const std::optional<int64_t> taps = CheckedElementCount(options.kernel);
    const std::optional<int64_t> steps = CheckedElementCount({plan.steps.data(), plan.window.rank});
    if (!taps || !steps)
      return Error(StatusCode::kInvalidArgument, "image_shape {} and block_shape {} have too many positions",
                   ShapeToString(image), ShapeToString(options.kernel));
    SmallDims dims;
    dims.push_back(columns.rank() == 3 ? columns.dim(0) : -1);
    dims.push_back(columns.rank() == 3 ? columns.dim(1) / *taps : -1);
    for (const int64_t extent : image) dims.push_back(extent);
    DEPUTY_RETURN_IF_ERROR(CheckDims(output.dims(), dims, "the output"));
    if (columns.dim(1) % *taps != 0 || columns.dim(2) != *steps)
      return Error(StatusCode::kInvalidArgument, "input of shape {} does not match image_shape {} and block_shape",
                   ShapeToString(columns.dims()), ShapeToString(image));
    return plan;
  }

 private:
  ColumnsAttributes attributes_;
};

template <class T>
class ColumnsToImage : public ColumnsPlanner {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  using ColumnsPlanner::ColumnsPlanner;

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const std::span<const int64_t> block(plan.block.data(), plan.block.size());
    const std::span<const int64_t> steps(plan.steps.data(), plan.window.rank);
    const std::span<const int64_t> image(plan.image.data(), plan.image.size());
    const int64_t taps = ElementCount(block), positions = ElementCount(steps), plane = ElementCount(image);
    const MutableView output = args.output(0);
    T* const target = output.data<T>();
    const bool truth = output.dtype() == DType::kBool;
    FillZero(target, output.byte_size(), args.pool);
    if (positions == 0) return Status();
    const int64_t planes = output.dim(0) * output.dim(1);
    ColumnGeometry geometry{plan.window.all(), {}, plan.steps};
    std::copy(image.begin(), image.end(), geometry.wide.begin());
    args.pool.ParallelFor(planes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* const from = args.input(0).template data<T>() + p * taps * positions;
        if constexpr (std::is_floating_point_v<T>)
          ScatterColumns(geometry, from, 1, 0, positions, target + p * plane);
        else
          AddColumns(plan, from, truth, target + p * plane);
      }
    });
    return Status();
  }

 private:
  // The same as ScatterColumns, for elements of any type.
  static void AddColumns(const Plan& plan, const T* from, bool truth, T* target) {
    const std::span<const int64_t> block(plan.block.data(), plan.block.size());
    const std::span<const int64_t> steps(plan.steps.data(), plan.window.rank);
    SmallDims tap(block.size(), 0);
    EndCheck check;
    do {
      SmallDims at(block.size(), 0);
      do {
        int64_t offset = 0;
        bool inside = true;
        for (size_t d = 0; d < block.size(); ++d) {
          const WindowAxis& axis = plan.window.axes[d];
          const int64_t x = at[d] * axis.stride + tap[d] * axis.dilation - axis.pad_begin;
          inside = inside && x >= 0 && x < plan.image[d];
          offset = offset * plan.image[d] + x;
        }
        if (inside) Add(target[offset], *from, truth);
        ++from;
        if (check.Ends(8)) return;
      } while (Advance(steps, at));
    } while (Advance(block, tap));
  }

  // Integers wrap; bools are combined with "or".
  static void Add(T& sum, T value, bool truth) {
    if constexpr (std::is_floating_point_v<T>)
      sum += value;
    else if (truth)
      sum = static_cast<T>(sum != 0 || value != 0);
    else
      sum = static_cast<T>(sum + value);
  }
};

// Writes elements to the positions from which the pool took them; the rest is zero.
Status RunMaxUnpool(const KernelArgs& args) {
  const ConstView x = args.input(0), indices = args.input(1);
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(x));
  DEPUTY_RETURN_IF_ERROR(ElementBytes(indices).status());
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, x.dtype(), output.dims()));
  if (indices.dtype() != DType::kInt64 || indices.element_count() != x.element_count())
    return Error(StatusCode::kInvalidArgument, "indices must be int64 and have as many elements as the input");
  FillZero(output.data<char>(), output.byte_size(), args.pool);
  const int64_t room = output.element_count();
  Status status;
  InParts(x.element_count(), 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && status.ok(); ++i) {
      const int64_t at = indices.data<int64_t>()[i];
      if (at < 0 || at >= room) {
        status = Error(StatusCode::kInvalidArgument, "index {} is outside an output of {} elements", at, room);
        return;
      }
      std::memcpy(output.data<char>() + static_cast<size_t>(at) * element,
                  x.data<char>() + static_cast<size_t>(i) * element, element);
    }
  });
  return status;
}

template <class T>
class Determinant {
 public:
  static constexpr uint32_t kTypedInputs = 0b1, kTypedOutputs = 0b1;
  struct Plan {
    int64_t count = 0, size = 0;
    size_t workspace_bytes = 0;
  };

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0);
    const size_t rank = x.rank();
    if (rank < 2 || x.dim(rank - 2) != x.dim(rank - 1))
      return Error(StatusCode::kInvalidArgument, "expected square matrices, got shape {}", ShapeToString(x.dims()));
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims().first(rank - 2), "the output"));
    Plan plan{ElementCount(x.dims().first(rank - 2)), x.dim(rank - 1)};
    plan.workspace_bytes = static_cast<size_t>(plan.size * plan.size) * sizeof(double);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    double* const matrix = static_cast<double*>(workspace);
    ForEachUntilEnd(0, plan.count, StepsOf(plan.size + 1, plan.size + 1, plan.size + 1), [&](int64_t i) {
      const T* from = args.input(0).data<T>() + i * plan.size * plan.size;
      InPartsOf(plan.size * plan.size, 1, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) matrix[j] = static_cast<double>(from[j]);
      });
      args.output(0).data<T>()[i] = static_cast<T>(Eliminate(matrix, plan.size));
    });
    return Status();
  }

 private:
  static double Eliminate(double* matrix, int64_t size) {
    double product = 1;
    EndCheck check;
    for (int64_t column = 0; column < size && !check.Ends(size); ++column) {
      int64_t pivot = column;
      for (int64_t row = column + 1; row < size; ++row)
        if (std::fabs(matrix[row * size + column]) > std::fabs(matrix[pivot * size + column])) pivot = row;
      if (matrix[pivot * size + column] == 0) return 0;
      if (pivot != column) {
        std::swap_ranges(matrix + pivot * size, matrix + (pivot + 1) * size, matrix + column * size);
        product = -product;
      }
      product *= matrix[column * size + column];
      for (int64_t row = column + 1; row < size && !check.Ends(size - column); ++row) {
        const double factor = matrix[row * size + column] / matrix[column * size + column];
        for (int64_t k = column; k < size; ++k) matrix[row * size + k] -= factor * matrix[column * size + k];
      }
    }
    return product;
  }
};

}  // namespace

KernelResult MakeCenterCropPad(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf(RunCenterCropPad);
}

KernelResult MakeCol2Im(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  const ColumnsAttributes attributes{primitive, primitive.GetInts("dilations"), primitive.GetInts("pads"),
                                     primitive.GetInts("strides")};
  const DType dtype = spec.input_type(0).dtype;
  if (IsFloating(dtype)) return MakeFloatKernel<ColumnsToImage>(spec, attributes);
  KernelResult made = UnsupportedDType(spec);
  if (dtype != DType::kBool && !IsNumeric(dtype)) return made;
  DispatchSize(SizeOf(dtype), [&](auto tag) {  // sums wrap: the sign has no part in them
    made = MakePlannedKernel(spec, ColumnsToImage<typename decltype(tag)::Type>(attributes));
  });
  return made;
}

KernelResult MakeMaxUnpool(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf(RunMaxUnpool);
}

KernelResult MakeDet(const KernelSpec& spec) { return MakeFloatKernel<Determinant>(spec); }

}  // namespace deputy::host
