// Sliding windows over the spatial dimensions, for convolutions and pools, as ONNX defines them.
#pragma once

#include "reference/node.hpp"

namespace deputy::conformance::reference {

struct Window {
  Dims kernel, strides, dilations, before, after, out;

  // A pool's window that is too large by less than a stride reads the existing elements; a convolution has no such
  // window.
  enum class Overhang { kNone, kLessThanAStride };
  // Input positions [N, C, D1, D2, ...]; `kernel` are the spatial extents of one window.
  static Window Of(const Node& node, const Dims& input, const Dims& kernel, Overhang overhang);
  size_t rank() const { return kernel.size(); }
  // The position that tap `tap` of the window at `at` reads along dimension `axis`; may be outside.
  int64_t Position(size_t axis, int64_t at, int64_t tap) const {
    return at * strides[axis] + tap * dilations[axis] - before[axis];
  }
};

}  // namespace deputy::conformance::reference
