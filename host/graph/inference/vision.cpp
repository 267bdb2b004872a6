// Inference of the operators of detection and of geometry: boxes, regions, grids, crops.
#include <algorithm>

#include "graph/inference/functions.hpp"
#include "graph/inference/slicing.hpp"

namespace deputy::host {
namespace {

Status CheckRank(const InferenceContext& context, size_t i, size_t rank, const char* name) {
  if (!context.has_input(i) || !context.input(i).ranked || context.input(i).dims.size() == rank) return {};
  return Error(StatusCode::kModel, "{} has rank {}, expected {}", name, context.input(i).dims.size(), rank);
}

Status InferRegions(InferenceContext& context, int64_t height, int64_t width) {
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 4, "X"));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 1, 2, "rois"));
  if (height < 1 || width < 1)
    return Error(StatusCode::kModel, "the output height and width must be at least 1, got {} and {}", height, width);
  return context.Output(context.input(0).dtype,
                        {DimOf(context.input(1), 0), DimOf(context.input(0), 1), height, width});
}

}  // namespace

Status InferNonMaxSuppression(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, "boxes"));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 1, 3, "scores"));
  return context.Output(DType::kInt64, {kUnknownDim, 3});
}

Status InferRoiAlign(InferenceContext& context) {
  const Primitive& primitive = context.primitive();
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 2, 1, "batch_indices"));
  return InferRegions(context, primitive.GetInt("output_height", 1), primitive.GetInt("output_width", 1));
}

Status InferMaxRoiPool(InferenceContext& context) {
  const std::span<const int64_t> shape = context.primitive().GetInts("pooled_shape");
  if (shape.size() != 2) return Error(StatusCode::kModel, "pooled_shape has {} values, expected 2", shape.size());
  return InferRegions(context, shape[0], shape[1]);
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
  return context.Output(x.dtype, std::move(dims));
}

Status InferAffineGrid(InferenceContext& context) {
  const DType dtype = context.input(0).dtype;
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, "theta"));
  DEPUTY_ASSIGN_OR_RETURN(const IntList size, ReadIntList(context, 1, "size"));
  if (size.count && *size.count != 4 && *size.count != 5)
    return Error(StatusCode::kModel, "input 'size' has {} values, expected 4 or 5", *size.count);
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

Status InferCol2Im(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, "input"));
  DEPUTY_ASSIGN_OR_RETURN(const IntList image, ReadIntList(context, 1, "image_shape"));
  DEPUTY_ASSIGN_OR_RETURN(const IntList block, ReadIntList(context, 2, "block_shape"));
  if (!image.count) return context.OutputUnranked(input.dtype);
  if (*image.count > kMostAxes)
    return Error(StatusCode::kModel, "image_shape has {} elements, expected at most {}", *image.count, kMostAxes);
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
  return context.Output(input.dtype, std::move(dims));
}

// The weights decide the window; the offsets are only required.
Status InferDeformConv(InferenceContext& context) { return InferAs(context, 0, 1, InferConv, context.input(0).dtype); }

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
