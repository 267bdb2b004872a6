#include "graph/inference/resizing.hpp"

#include <algorithm>
#include <cmath>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

namespace deputy::host {
namespace {

// Larger extents are a mistake, and would not fit the arithmetic of coordinates.
constexpr float kLargestExtent = 0x1p40f;

size_t ListedIn(const ResizeRequest& request) { return std::max(request.scales.size(), request.sizes.size()); }

Result<std::optional<size_t>> PositionOf(const ResizeRequest& request, size_t rank, size_t axis) {
  const size_t wanted = request.axes.empty() ? rank : request.axes.size();
  if (ListedIn(request) != wanted)
    return Error(StatusCode::kModel, "got {} {} for {} axes", ListedIn(request),
                 request.sizes.empty() ? "scales" : "sizes", wanted);
  if (request.axes.empty()) return std::optional<size_t>(axis);
  for (size_t i = 0; i < request.axes.size(); ++i) {
    const int64_t named = request.axes[i] < 0 ? request.axes[i] + static_cast<int64_t>(rank) : request.axes[i];
    if (named == static_cast<int64_t>(axis)) return std::optional<size_t>(i);
  }
  return std::optional<size_t>();
}

size_t AxisAt(const ResizeRequest& request, size_t rank, size_t position) {
  if (request.axes.empty()) return position;
  const int64_t axis = request.axes[position];
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// The one scale that keeps the ratio; none while an extent is not known.
std::optional<float> CommonScale(const ResizeRequest& request, std::span<const int64_t> dims) {
  std::optional<float> common;
  for (size_t i = 0; i < request.sizes.size(); ++i) {
    const size_t axis = AxisAt(request, dims.size(), i);
    if (axis >= dims.size() || dims[axis] <= 0) return std::nullopt;
    const float scale = static_cast<float>(request.sizes[i]) / static_cast<float>(dims[axis]);
    if (!common || (request.aspect == AspectRatio::kNotLarger ? scale < *common : scale > *common)) common = scale;
  }
  return common;
}

Status ResizeWithScale(ResizedAxis& axis, int64_t input, float scale) {
  if (!(scale > 0 && std::isfinite(scale)))
    return Error(StatusCode::kModel, "scales must be positive and finite, got {}", scale);
  axis.scale = scale;
  axis.extent = scale == 1.0f ? input : kUnknownDim;
  if (input < 0) return {};
  axis.length = static_cast<float>(input) * scale;
  if (axis.length >= kLargestExtent)
    return Error(StatusCode::kModel, "an extent of {} resized by {} is too large", input, scale);
  axis.extent = static_cast<int64_t>(axis.length);
  return {};
}

Status ResizeToSize(ResizedAxis& axis, int64_t input, int64_t size) {
  if (size < 0) return Error(StatusCode::kModel, "sizes must not be negative, got {}", size);
  axis.extent = size;
  axis.length = static_cast<float>(size);
  if (input > 0) axis.scale = axis.length / static_cast<float>(input);
  return {};
}

// An empty list counts as none.
Status CheckList(const InferenceContext& context, size_t i, size_t axes, const char* name) {
  const ValueType& type = context.input(i);
  if (!context.has_input(i) || !type.ranked || CountOf(type.dims) <= 0) return {};
  return CheckElements(context, i, static_cast<int64_t>(axes), name);
}

// Whether the list is given and has elements, as far as is known.
bool IsGiven(const InferenceContext& context, size_t i) {
  return context.has_input(i) && context.input(i).ranked && CountOf(context.input(i).dims) > 0;
}

// The region that is resized has a start and an end for each axis.
Status CheckRegion(const InferenceContext& context, size_t i, size_t axes) {
  const std::string_view mode = context.primitive().GetString("coordinate_transformation_mode", "half_pixel");
  if (mode != "tf_crop_and_resize" || axes == 0) return {};
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, i, "roi"));
  const ValueType& type = context.input(i);
  const int64_t count = type.ranked ? CountOf(type.dims) : kUnknownDim;
  if (count < 0 || count >= static_cast<int64_t>(2 * axes)) return {};
  return Error(StatusCode::kModel, "input 'roi' has {} elements, expected a start and an end for each of {} axes",
               count, axes);
}

}  // namespace

ResizeInputs ResizeInputsOf(const Primitive& primitive) {
  if (primitive.kind() == OpKind::kUpsample || primitive.since_version() < 11) return {std::nullopt, std::nullopt, 1};
  return {1, 3, 2};
}

Result<AspectRatio> AspectRatioOf(std::string_view name) {
  if (name == "stretch") return AspectRatio::kStretch;
  if (name == "not_larger") return AspectRatio::kNotLarger;
  if (name == "not_smaller") return AspectRatio::kNotSmaller;
  return Error(StatusCode::kModel, "keep_aspect_ratio_policy must be stretch, not_larger or not_smaller, got '{}'",
               name);
}

Result<ResizedAxis> ResolveResize(const ResizeRequest& request, std::span<const int64_t> dims, size_t axis) {
  ResizedAxis resized;
  DEPUTY_ASSIGN_OR_RETURN(resized.position, PositionOf(request, dims.size(), axis));
  const int64_t input = dims[axis];
  resized.extent = input;
  resized.length = static_cast<float>(std::max<int64_t>(input, 0));
  if (!resized.position) return resized;
  if (!request.scales.empty()) {
    DEPUTY_RETURN_IF_ERROR(ResizeWithScale(resized, input, request.scales[*resized.position]));
  } else if (request.aspect == AspectRatio::kStretch) {
    DEPUTY_RETURN_IF_ERROR(ResizeToSize(resized, input, request.sizes[*resized.position]));
  } else if (const std::optional<float> scale = CommonScale(request, dims)) {
    DEPUTY_RETURN_IF_ERROR(ResizeToSize(resized, input, std::llround(static_cast<float>(input) * *scale)));
    resized.scale = *scale;
    resized.length = static_cast<float>(input) * *scale;
  } else {
    resized.extent = kUnknownDim;
  }
  if (input == 0 && resized.extent > 0)
    return Error(StatusCode::kModel, "axis {} has no elements and cannot be resized to {}", axis, resized.extent);
  return resized;
}

Status InferResize(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const ResizeInputs inputs = ResizeInputsOf(context.primitive());
  ResizeRequest request;
  request.axes = context.primitive().GetInts("axes");
  DEPUTY_ASSIGN_OR_RETURN(request.aspect,
                          AspectRatioOf(context.primitive().GetString("keep_aspect_ratio_policy", "stretch")));
  const Tensor* scales = context.constant(inputs.scales);
  if (scales != nullptr && scales->dtype() != DType::kFloat32)
    return Error(StatusCode::kModel, "scales has dtype {}, expected float32", NameOf(scales->dtype()));
  if (scales != nullptr) request.scales = scales->values<float>();
  IntList sizes;
  if (inputs.sizes && context.has_input(*inputs.sizes)) {
    DEPUTY_ASSIGN_OR_RETURN(sizes, ReadIntList(context, *inputs.sizes, "sizes"));
    if (sizes.values && request.scales.empty()) request.sizes = *sizes.values;
  }
  if (inputs.sizes && IsGiven(context, inputs.scales) && IsGiven(context, *inputs.sizes))
    return Error(StatusCode::kModel, "scales and sizes are both given, expected one of them");
  const bool given = !request.scales.empty() || !request.sizes.empty();
  if (!input.ranked) return context.OutputUnranked(input.dtype);
  DEPUTY_RETURN_IF_ERROR(NormalizeAxes(context, request.axes, input.dims.size()).status());
  const size_t resized_axes = request.axes.empty() ? input.dims.size() : request.axes.size();
  DEPUTY_RETURN_IF_ERROR(CheckList(context, inputs.scales, resized_axes, "scales"));
  if (inputs.sizes) DEPUTY_RETURN_IF_ERROR(CheckList(context, *inputs.sizes, resized_axes, "sizes"));
  if (inputs.roi) DEPUTY_RETURN_IF_ERROR(CheckRegion(context, *inputs.roi, resized_axes));
  if (!given) {
    const bool open = (context.has_input(inputs.scales) && scales == nullptr) ||
                      (inputs.sizes && context.has_input(*inputs.sizes) && !sizes.values);
    if (!open && !input.dims.empty()) return Error(StatusCode::kModel, "scales or sizes is required");
    return context.Output(input.dtype, UnknownDims(input.dims.size()));
  }
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < input.dims.size(); ++axis) {
    DEPUTY_ASSIGN_OR_RETURN(const ResizedAxis resized, ResolveResize(request, input.dims, axis));
    dims.push_back(resized.extent);
  }
  return context.Output(input.dtype, std::move(dims));
}

Status InferUpsample(InferenceContext& context) { return InferResize(context); }

}  // namespace deputy::host
