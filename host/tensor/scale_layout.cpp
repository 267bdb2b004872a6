#include "tensor/scale_layout.hpp"

#include "tensor/shape.hpp"

namespace deputy::host {

Result<ScaleLayout> LayOutScales(std::span<const int64_t> dims, std::span<const int64_t> scale_dims, int64_t axis,
                                 int64_t block) {
  if (ElementCount(scale_dims) == 1 && (scale_dims.size() <= 1 || block == 0))
    return ScaleLayout{1, 1, ElementCount(dims), 0, 1, 0, 0};
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (axis < -rank || axis >= rank) return Error(StatusCode::kModel, "axis {} is out of range for rank {}", axis, rank);
  const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const int64_t outer = ElementCount(dims.first(at)), inner = ElementCount(dims.subspan(at + 1));
  // With a single axis, blocks and a scale per element look alike.
  const bool blocked = block > 0 && dims.size() == 1 && scale_dims.size() == 1 && scale_dims[0] != dims[0];
  if (scale_dims.size() == 1 && !blocked) {
    if (scale_dims[0] != dims[at])
      return Error(StatusCode::kModel, "scale has {} elements, expected {}, the extent of axis {}", scale_dims[0],
                   dims[at], at);
    if (inner == 1) return ScaleLayout{outer, 1, dims[at], 0, 1, 0, 1};
    return ScaleLayout{outer, dims[at], inner, 0, 1, 1, 0};
  }
  bool fits = scale_dims.size() == dims.size() && block > 0;
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = scale_dims[i] == (i == at ? dims[i] / block + (dims[i] % block != 0) : dims[i]);
  if (!fits)
    return Error(StatusCode::kModel, "scale of shape {} does not match input {} with block_size {} along axis {}",
                 ShapeToString(scale_dims), ShapeToString(dims), block, at);
  return ScaleLayout{outer, dims[at], inner, scale_dims[at] * inner, block, inner, 1};
}

}  // namespace deputy::host
