// Sliding windows: how padding, stride and dilation turn an input's extents into an output's. Shape inference and the
// kernels of convolutions and pools both use this, so that they cannot disagree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"

namespace deputy::host {

// Spatial axes of a window. Real models have one to three; a fixed bound keeps windows free of allocations.
inline constexpr size_t kMaxWindowAxes = 6;
using SpatialDims = std::array<int64_t, kMaxWindowAxes>;

// Of the first `rank` extents.
inline int64_t Product(const SpatialDims& dims, size_t rank) {
  int64_t product = 1;
  for (size_t i = 0; i < rank; ++i) product *= dims[i];
  return product;
}

// How the padding is chosen: given, or so that the output has ceil(input / stride) elements with the odd one at the end
// (upper) or at the start (lower), or none.
enum class AutoPad { kNotSet, kSameUpper, kSameLower, kValid };

struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;
  int64_t output_padding = 0;  // transposed convolutions: extra extent at the end of the output

  // Input elements from the first tap to the last.
  int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

struct Window {
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;  // a last window that only partly covers the input counts
  size_t rank = 0;
  std::array<WindowAxis, kMaxWindowAxes> axes;
  // Transposed convolutions: the requested extents; 0 where the window decides.
  SpatialDims output_shape = {};

  std::span<const WindowAxis> all() const { return {axes.data(), rank}; }
  bool IsPointwise() const;  // one tap, no stride, no padding
};

// The attributes of a window in the model; an empty list means the default of every axis.
struct WindowOptions {
  std::string_view auto_pad = "NOTSET";
  bool ceil_mode = false;
  std::span<const int64_t> kernel;  // sets the rank
  std::span<const int64_t> strides, dilations, pads, output_padding, output_shape;
};

// Fails when lists differ in length or hold values out of range. No value is over 2^31, so that sums and products of
// one with the extent of a tensor in memory do not overflow.
Result<Window> MakeWindow(const WindowOptions& options);

// Chooses the paddings for an input of these extents, all known, and gives the output's extents. Fails when the window
// is larger than the padded input.
Status ResolveWindow(Window& window, std::span<const int64_t> input, SpatialDims& output);

// The same for a pool, whose window may be larger than the padded input. If it is larger by less than a stride, the
// output has one element, computed from the part of the input inside the window; if by less than two strides, none;
// else this fails. ONNX's formula divides by the stride, and its implementations round towards zero, as ONNX Runtime
// does (core/providers/cpu/nn/pool_attributes.h).
Status ResolvePoolWindow(Window& window, std::span<const int64_t> input, SpatialDims& output);

// The same for a transposed convolution, whose window is spread over the output.
Status ResolveTransposedWindow(Window& window, std::span<const int64_t> input, SpatialDims& output);

// Leaves out the axes along which there is one element, read by one tap: kernels are fastest when the last axis is
// long. One axis stays. The window must be resolved.
void DropUnitAxes(Window& window, SpatialDims& input, SpatialDims& output);

// Outputs [first, last) of `count` for which tap `tap` of the axis reads inside an input of `extent`.
struct TapRange {
  int64_t first = 0, last = 0;
};
TapRange OutputsInside(const WindowAxis& axis, int64_t tap, int64_t extent, int64_t count);

// Taps [first, last) of the axis that read inside the input, for output `position`.
TapRange TapsInside(const WindowAxis& axis, int64_t position, int64_t extent);

}  // namespace deputy::host
