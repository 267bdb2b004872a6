// The arithmetic of Resize and Upsample: the extents of the output, and the scale of each axis. Shared by inference and
// the CPU's kernel, which must agree.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "graph/inference.hpp"

namespace deputy::host {

// Positions of the inputs. Before opset 11 there were no roi and no sizes.
struct ResizeInputs {
  std::optional<size_t> roi, sizes;
  size_t scales = 1;
};
ResizeInputs ResizeInputsOf(const Primitive& primitive);

// Treatment of sizes that would distort: follow them, stay inside them, or cover them.
enum class AspectRatio { kStretch, kNotLarger, kNotSmaller };
Result<AspectRatio> AspectRatioOf(std::string_view name);

// Either scales or sizes, one for each of `axes`; no axes mean all.
struct ResizeRequest {
  std::span<const float> scales;
  std::span<const int64_t> sizes;
  std::span<const int64_t> axes;
  AspectRatio aspect = AspectRatio::kStretch;
};

struct ResizedAxis {
  int64_t extent = 0;              // kUnknownDim, or the input's symbol, when the input's is not known
  float scale = 1;                 // output / input; as given, not the ratio of the rounded extents
  float length = 0;                // the output's extent before rounding
  std::optional<size_t> position;  // among the axes named; none: the axis stays as it is
};

// For one axis of an input of `dims`, which may hold symbols.
Result<ResizedAxis> ResolveResize(const ResizeRequest& request, std::span<const int64_t> dims, size_t axis);

}  // namespace deputy::host
