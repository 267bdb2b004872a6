// Windows of one or two axes as a plane of rows, the form of the modules of linalg/.
#pragma once

#include "tensor/window.hpp"

namespace deputy::host {

// Whether a module of linalg/ computes the window directly from the input.
inline bool IsPlainPlane(const Window& window) { return window.rank <= 2 && window.axes[window.rank - 1].stride <= 2; }

// Sets the extents and the window of a plane; one axis becomes one row. Shape: a PoolShape or a ConvolutionShape.
template <class Shape, class Plane>
void DescribePlane(const Shape& shape, Plane& plane) {
  for (size_t i = 0; i < 2; ++i) {
    const bool row_only = shape.window.rank == 1 && i == 0;
    const size_t from = shape.window.rank == 1 ? 0 : i;
    const WindowAxis axis = row_only ? WindowAxis() : shape.window.axes[from];
    plane.in[i] = row_only ? 1 : shape.in[from];
    plane.out[i] = row_only ? 1 : shape.out[from];
    plane.kernel[i] = axis.kernel;
    plane.strides[i] = axis.stride;
    plane.dilations[i] = axis.dilation;
    plane.pads[i] = axis.pad_begin;
  }
}

}  // namespace deputy::host
