// Shape inference of the pools.
#include <optional>

#include "base/checked.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"
#include "graph/inference/windows.hpp"

namespace deputy::host {
namespace {

Status InferPool(InferenceContext& context) {
  const ValueType& x = context.input(0);
  const WindowOptions options = WindowOptionsOf(context.primitive());
  if (options.kernel.empty()) return Error(StatusCode::kModel, "attribute 'kernel_shape' is missing");
  DEPUTY_ASSIGN_OR_RETURN(const Window window, MakeWindow(options));
  std::vector<int64_t> dims = UnknownDims(window.rank + 2);
  if (x.ranked) {
    if (x.dims.size() != window.rank + 2)
      return Error(StatusCode::kModel, "input has rank {}, but kernel_shape with {} axes requires rank {}",
                   x.dims.size(), window.rank, window.rank + 2);
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> spatial,
                            InferWindow(window, std::span<const int64_t>(x.dims).subspan(2), WindowUse::kPool));
    dims = {x.dims[0], x.dims[1]};
    dims.insert(dims.end(), spatial.begin(), spatial.end());
  }
  context.SetOutput(0, x.dtype, dims);
  if (context.primitive().kind() == OpKind::kMaxPool) context.SetOutput(1, DType::kInt64, std::move(dims));
  return Status();
}

Status InferGlobalPool(InferenceContext& context) {
  ValueType type = context.input(0);
  if (type.ranked && type.dims.size() < 2)
    return Error(StatusCode::kModel, "input has rank {}, expected at least 2", type.dims.size());
  // A norm of nothing is 0; a maximum or mean of nothing is none.
  if (context.primitive().kind() != OpKind::kGlobalLpPool && type.ranked &&
      CountOf(std::span(type.dims).subspan(2)) == 0 && CountOf(std::span(type.dims).first(2)) > 0)
    return Error(StatusCode::kModel, "the spatial axes of input {} are empty", ShapeToString(type.dims));
  for (size_t i = 2; i < type.dims.size(); ++i) type.dims[i] = 1;
  return context.Output(std::move(type));
}

}  // namespace

// The inverse of a MaxPool without padding of its own: the largest extent that the windows covered.
Status InferMaxUnpool(InferenceContext& context) {
  const ValueType& x = context.input(0);
  if (x.ranked && CountOf(x.dims) >= 0) DEPUTY_RETURN_IF_ERROR(CheckElements(context, 1, CountOf(x.dims), "I"));
  if (context.has_input(2)) {
    DEPUTY_ASSIGN_OR_RETURN(const IntList shape, ReadIntList(context, 2, "output_shape"));
    if (shape.values) {
      for (const int64_t extent : *shape.values)
        if (extent < 0) return Error(StatusCode::kModel, "output_shape must not be negative, got {}", extent);
      context.SetOutput(0, x.dtype, *shape.values);
    } else if (shape.count) {
      context.SetOutput(0, x.dtype, UnknownDims(*shape.count));
    } else {
      context.SetOutputUnranked(0, x.dtype);
    }
    return Status();
  }
  DEPUTY_ASSIGN_OR_RETURN(const Window window, MakeWindow(WindowOptionsOf(context.primitive())));
  if (x.ranked && x.dims.size() != window.rank + 2)
    return Error(StatusCode::kModel, "input has rank {}, but kernel_shape with {} axes requires rank {}", x.dims.size(),
                 window.rank, window.rank + 2);
  std::vector<int64_t> dims = x.ranked ? x.dims : UnknownDims(window.rank + 2);
  for (size_t i = 0; i < window.rank; ++i) {
    const WindowAxis& axis = window.axes[i];
    int64_t& extent = dims[i + 2];
    if (extent < 0) continue;
    const std::optional<int64_t> steps = CheckedMultiply(extent - 1, axis.stride);
    const std::optional<int64_t> covered =
        steps ? CheckedAdd(*steps, axis.kernel - axis.pad_begin - axis.pad_end) : std::nullopt;
    if (!covered || *covered < 0)
      return Error(StatusCode::kModel, "the unpooled size of extent {} is negative or overflows", extent);
    extent = *covered;
  }
  return context.Output(x.dtype, std::move(dims));
}

Status InferMaxPool(InferenceContext& context) { return InferPool(context); }
Status InferAveragePool(InferenceContext& context) { return InferPool(context); }
Status InferLpPool(InferenceContext& context) { return InferPool(context); }
Status InferGlobalLpPool(InferenceContext& context) { return InferGlobalPool(context); }
Status InferGlobalMaxPool(InferenceContext& context) { return InferGlobalPool(context); }
Status InferGlobalAveragePool(InferenceContext& context) { return InferGlobalPool(context); }

}  // namespace deputy::host
