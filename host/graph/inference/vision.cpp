// Inference of the operators of detection and of geometry: boxes, regions, grids, crops.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"
#include "graph/inference/slicing.hpp"
#include "graph/inference/windows.hpp"

namespace deputy::host {
namespace {

Status CheckRank(const InferenceContext& context, size_t i, size_t rank, const char* name) {
  if (!context.has_input(i) || !context.input(i).ranked || context.input(i).dims.size() == rank) return {};
  return Error(StatusCode::kModel, "{} has rank {}, expected {}", name, context.input(i).dims.size(), rank);
}

// What is read from X must be there unless nothing is made of it.
Status CheckNotEmpty(const ValueType& x, std::span<const int64_t> read, std::span<const int64_t> made) {
  if (CountOf(read) != 0 || CountOf(made) <= 0) return {};
  return Error(StatusCode::kModel, "X of shape {} has no elements", ShapeToString(x.dims));
}

// Regions are rows of `numbers` numbers.
Status InferRegions(InferenceContext& context, int64_t numbers, int64_t height, int64_t width) {
  const ValueType& x = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 4, "X"));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 1, 2, "rois"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, {kUnknownDim, numbers}, "rois"));
  if (x.ranked)
    DEPUTY_RETURN_IF_ERROR(CheckNotEmpty(x, std::array{x.dims[0], x.dims[2], x.dims[3]},
                                         std::array{DimOf(context.input(1), 0), x.dims[1]}));
  if (height < 1 || width < 1)
    return Error(StatusCode::kModel, "the output height and width must be at least 1, got {} and {}", height, width);
  return context.Output(context.input(0).dtype,
                        {DimOf(context.input(1), 0), DimOf(context.input(0), 1), height, width});
}

}  // namespace

Status InferNonMaxSuppression(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, "boxes"));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 1, 3, "scores"));
  const ValueType& boxes = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 0, {kUnknownDim, kUnknownDim, 4}, "boxes"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, {DimOf(boxes, 0), kUnknownDim, DimOf(boxes, 1)}, "scores"));
  static constexpr const char* kLimits[] = {"max_output_boxes_per_class", "iou_threshold", "score_threshold"};
  for (size_t i = 0; i < 3; ++i) DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 2 + i, kLimits[i]));
  return context.Output(DType::kInt64, {kUnknownDim, 3});
}

Status InferRoiAlign(InferenceContext& context) {
  const Primitive& primitive = context.primitive();
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 2, 1, "batch_indices"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 2, {DimOf(context.input(1), 0)}, "batch_indices"));
  if (const int64_t batch = DimOf(context.input(0), 0); batch >= 0)
    DEPUTY_RETURN_IF_ERROR(CheckValues(context, 2, {0, batch - 1}, "batch_indices"));
  return InferRegions(context, 4, primitive.GetInt("output_height", 1), primitive.GetInt("output_width", 1));
}

Status InferMaxRoiPool(InferenceContext& context) {
  const std::span<const int64_t> shape = context.primitive().GetInts("pooled_shape");
  if (shape.size() != 2) return Error(StatusCode::kModel, "pooled_shape has {} values, expected 2", shape.size());
  return InferRegions(context, 5, shape[0], shape[1]);
}

Status InferGridSample(InferenceContext& context) {
  const ValueType &x = context.input(0), &grid = context.input(1);
  if (!x.ranked || !grid.ranked) return context.OutputUnranked(x.dtype);
  if (x.dims.size() < 3 || grid.dims.size() != x.dims.size())
    return Error(StatusCode::kModel, "X has rank {} and grid has rank {}, expected the same rank of at least 3",
                 x.dims.size(), grid.dims.size());
  const int64_t spatial = static_cast<int64_t>(x.dims.size()) - 2;
  if (grid.dims.back() >= 0 && grid.dims.back() != spatial)
    return Error(StatusCode::kModel, "the last extent of grid is {}, expected {} (one per spatial axis)",
                 grid.dims.back(), spatial);
  std::vector<int64_t> dims = x.dims;
  DEPUTY_ASSIGN_OR_RETURN(dims[0], MergeDim(x.dims[0], grid.dims[0]));
  std::copy(grid.dims.begin() + 1, grid.dims.end() - 1, dims.begin() + 2);
  DEPUTY_RETURN_IF_ERROR(CheckNotEmpty(x, std::span(x.dims).subspan(2), dims));
  return context.Output(x.dtype, std::move(dims));
}

Status InferAffineGrid(InferenceContext& context) {
  const DType dtype = context.input(0).dtype;
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, "theta"));
  DEPUTY_ASSIGN_OR_RETURN(const IntList size, ReadIntList(context, 1, "size"));
  if (size.count && *size.count != 4 && *size.count != 5)
    return Error(StatusCode::kModel, "input 'size' has {} values, expected 4 or 5", *size.count);
  const int64_t axes = size.count ? static_cast<int64_t>(*size.count) - 2 : kUnknownDim;
  const int64_t batch = size.values ? (*size.values)[0] : kUnknownDim;
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 0, {batch, axes, axes < 0 ? kUnknownDim : axes + 1}, "theta"));
  if (!size.values) return context.OutputUnranked(dtype);
  for (const int64_t extent : *size.values)
    if (extent < 0) return Error(StatusCode::kModel, "input 'size' must not be negative, got {}", extent);
  std::vector<int64_t> dims = {(*size.values)[0]};
  dims.insert(dims.end(), size.values->begin() + 2, size.values->end());
  dims.push_back(static_cast<int64_t>(dims.size()) - 1);
  return context.Output(dtype, std::move(dims));
}

Status InferCenterCropPad(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const IntList shape, ReadIntList(context, 1, "shape"));
  if (!input.ranked) return context.OutputUnranked(input.dtype);
  std::vector<int64_t> dims = input.dims;
  std::vector<size_t> axes;
  DEPUTY_ASSIGN_OR_RETURN(axes, NormalizeAxes(context, context.primitive().GetInts("axes"), dims.size()));
  if (!context.primitive().Has("axes"))
    for (size_t d = 0; d < dims.size(); ++d) axes.push_back(d);
  if (shape.count && *shape.count != axes.size())
    return Error(StatusCode::kModel, "input 'shape' has {} extents for {} axes", *shape.count, axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    dims[axes[i]] = shape.values ? (*shape.values)[i] : kUnknownDim;
    if (shape.values && dims[axes[i]] < 0)
      return Error(StatusCode::kModel, "input 'shape' must not be negative, got {}", dims[axes[i]]);
  }
  return context.Output(input.dtype, std::move(dims));
}

Status InferCrop(InferenceContext& context) {
  ValueType type = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 4, "input"));
  DEPUTY_ASSIGN_OR_RETURN(const auto axes, ReadCrop(context.primitive()));
  std::vector<int64_t> dims = type.ranked ? type.dims : UnknownDims(4);
  for (size_t i = 0; i < axes.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(dims[i + 2], CroppedExtent(axes[i], dims[i + 2]));
  }
  return context.Output(type.dtype, std::move(dims));
}

Status InferImageScaler(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 4, "input"));
  const ValueType& type = context.input(0);
  const size_t bias = context.primitive().GetFloats("bias").size();
  if (bias != 0 && type.ranked && type.dims[1] >= 0 && static_cast<uint64_t>(type.dims[1]) != bias)
    return Error(StatusCode::kModel, "bias has {} values for {} channels", bias, type.dims[1]);
  return context.Output(type);
}

namespace {

// The columns have a position for each place of the window.
Status CheckColumns(const InferenceContext& context, std::span<const int64_t> image, std::span<const int64_t> block) {
  WindowOptions options = WindowOptionsOf(context.primitive());
  options.auto_pad = {};
  options.kernel = block;
  DEPUTY_ASSIGN_OR_RETURN(Window window, MakeWindow(options));
  SpatialDims steps = {};
  DEPUTY_RETURN_IF_ERROR(ResolveWindow(window, image, steps));
  const std::optional<int64_t> positions = CheckedElementCount({steps.data(), window.rank});
  if (!positions)
    return Error(StatusCode::kModel, "image_shape {} and block_shape {} have too many positions", ShapeToString(image),
                 ShapeToString(block));
  return CheckShape(context, 0, {kUnknownDim, kUnknownDim, *positions}, "input");
}

}  // namespace

Status InferCol2Im(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, "input"));
  DEPUTY_ASSIGN_OR_RETURN(const IntList image, ReadIntList(context, 1, "image_shape"));
  DEPUTY_ASSIGN_OR_RETURN(const IntList block, ReadIntList(context, 2, "block_shape"));
  if (!image.count) return context.OutputUnranked(input.dtype);
  if (*image.count > kMostAxes)
    return Error(StatusCode::kModel, "image_shape has {} elements, expected at most {}", *image.count, kMostAxes);
  if (block.count && *block.count != *image.count)
    return Error(StatusCode::kModel, "image_shape has {} elements and block_shape {}, expected as many", *image.count,
                 *block.count);
  std::vector<int64_t> dims = {DimOf(input, 0), kUnknownDim};
  if (block.values) {
    DEPUTY_ASSIGN_OR_RETURN(const int64_t taps, DimProduct(*block.values));
    if (taps < 1) return Error(StatusCode::kModel, "the extents of block_shape must be positive");
    if (DimOf(input, 1) >= 0) {
      if (DimOf(input, 1) % taps != 0)
        return Error(StatusCode::kModel, "extent {} of axis 1 is not divisible by the block size {}", DimOf(input, 1),
                     taps);
      dims[1] = DimOf(input, 1) / taps;
    }
  }
  for (size_t i = 0; i < *image.count; ++i) {
    dims.push_back(image.values ? (*image.values)[i] : kUnknownDim);
    if (image.values && dims.back() < 0)
      return Error(StatusCode::kModel, "image_shape must not be negative, got {}", dims.back());
  }
  if (image.values && block.values) DEPUTY_RETURN_IF_ERROR(CheckColumns(context, *image.values, *block.values));
  return context.Output(input.dtype, std::move(dims));
}

// The weights decide the window; each of its taps has an offset along each axis, and a factor if there is a mask.
Status InferDeformConv(InferenceContext& context) {
  const ValueType &x = context.input(0), &w = context.input(1);
  const int64_t groups = context.primitive().GetInt("offset_group", 1), channels = DimOf(x, 1);
  if (groups < 1 || (channels >= 0 && channels % groups != 0))
    return Error(StatusCode::kModel, "{} channels are not divisible by offset_group ({})", channels, groups);
  DEPUTY_RETURN_IF_ERROR(InferAs(context, 0, 1, InferConv, x.dtype));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 3, {DimOf(w, 0)}, "B"));
  const ValueType y = context.outputs()[0];
  if (!y.ranked) return {};
  const int64_t taps = w.ranked ? CountOf(std::span(w.dims).subspan(2)) : kUnknownDim;
  const auto times = [](int64_t a, int64_t b) {
    return a < 0 || b < 0 ? kUnknownDim : CheckedMultiply(a, b).value_or(kUnknownDim);
  };
  std::vector<int64_t> dims = y.dims;
  dims[1] = times(groups, taps);
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 4, dims, "mask"));
  dims[1] = times(dims[1], static_cast<int64_t>(dims.size()) - 2);
  return CheckShape(context, 2, dims, "offset");
}

Status InferDet(InferenceContext& context) {
  const ValueType& input = context.input(0);
  if (!input.ranked) return context.OutputUnranked(input.dtype);
  const size_t rank = input.dims.size();
  if (rank < 2 || !MergeDim(input.dims[rank - 2], input.dims[rank - 1]).ok())
    return Error(StatusCode::kModel, "input must be a batch of square matrices, got shape {}",
                 ShapeToString(input.dims));
  return context.Output(input.dtype, {input.dims.begin(), input.dims.end() - 2});
}

}  // namespace deputy::host
