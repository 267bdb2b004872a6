// The arithmetic of Resize and Upsample: the extents that come out, and the scale of each axis. Inference and the CPU's
// kernel both need it, and must agree.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "graph/inference.hpp"

namespace deputy::host {

// Which inputs hold what. Before opset 11 there were no roi and no sizes.
struct ResizeInputs {
  std::optional<size_t> roi, sizes;
  size_t scales = 1;
};
ResizeInputs ResizeInputsOf(const Primitive& primitive);

// What to do with sizes that would distort: follow them, stay inside them, or cover them.
enum class AspectRatio { kStretch, kNotLarger, kNotSmaller };
Result<AspectRatio> AspectRatioOf(std::string_view name);

// Either scales or sizes, one for each of `axes`; no axes stand for all.
struct ResizeRequest {
  std::span<const float> scales;
  std::span<const int64_t> sizes;
  std::span<const int64_t> axes;
  AspectRatio aspect = AspectRatio::kStretch;
};

struct ResizedAxis {
  int64_t extent = 0;              // kUnknownDim, or the input's symbol, when the input's is not known
  float scale = 1;                 // output / input; as given, not what the rounded extent amounts to
  float length = 0;                // what the output's extent would be without rounding
  std::optional<size_t> position;  // among the axes named; none: the axis stays as it is
};

// For one axis of an input of `dims`, which may hold symbols.
Result<ResizedAxis> ResolveResize(const ResizeRequest& request, std::span<const int64_t> dims, size_t axis);

}  // namespace deputy::host
