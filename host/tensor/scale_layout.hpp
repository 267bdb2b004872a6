// Which scale and zero point belong to which element of a quantized tensor: one for the whole tensor, one along an
// axis, or one per block of an axis.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace deputy::host {

// The tensor seen as [outer, extent, inner]. The scale of element (o, e, i) is number
// o * outer_step + e / block * axis_step + i * inner_step.
struct ScaleLayout {
  int64_t outer = 1, extent = 1, inner = 1;
  int64_t outer_step = 0, block = 1, axis_step = 0, inner_step = 0;
};

// A scale of one element serves the whole tensor; one of rank 1 an axis; otherwise `block` elements of the axis share
// one, and the other extents are those of the tensor. Fails when the extents, all known, do not fit.
Result<ScaleLayout> LayOutScales(std::span<const int64_t> dims, std::span<const int64_t> scale_dims, int64_t axis,
                                 int64_t block);

}  // namespace deputy::host
