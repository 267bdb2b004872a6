// The arithmetic of Slice, Pad, Crop, Split and Range. Shared by inference and the CPU's kernels, which must agree.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/inference.hpp"

namespace deputy::host {

// Elements start, start + step, ... of an axis, `count` of them.
struct SliceRange {
  int64_t start, step, count;
};

// ONNX's clamping: negative positions count from the end, and positions outside are cut off. `step` is not zero.
inline SliceRange ResolveSlice(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return {start, step, start < end ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<int64_t>(start, extent == 0 ? -1 : 0, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  // Divided as unsigned: the negation of the lowest step does not fit an int64.
  const uint64_t stride = 0 - static_cast<uint64_t>(step);
  return {start, step, start > end ? static_cast<int64_t>(static_cast<uint64_t>(start - end - 1) / stride) + 1 : 0};
}

// One axis of a Pad: the input is first cropped by negative amounts to [first, first + kept), then widened.
struct PadRange {
  int64_t before, after;  // as given
  int64_t first, kept;    // of the input
  int64_t total;          // of the output
};
// Fails when more is cropped than the extent.
Result<PadRange> ResolvePad(int64_t before, int64_t after, int64_t extent);

// One axis of a Crop: the elements cut off before and after, or only before where the size is given.
struct CropAxis {
  int64_t before = 0, after = 0;
  int64_t size = -1;
};
// Height and width.
Result<std::array<CropAxis, 2>> ReadCrop(const Primitive& primitive);
// The cropped `extent`, which may be a symbol. Fails when more is cut off than it has.
Result<int64_t> CroppedExtent(const CropAxis& axis, int64_t extent);

enum class PadMode { kConstant, kReflect, kEdge, kWrap };
Result<PadMode> PadModeOf(std::string_view name);

// Size of part `i` when `extent` elements are cut into `parts` of equal size, the last one smaller.
inline int64_t SplitPart(int64_t extent, int64_t parts, int64_t i) {
  const int64_t size = extent == 0 ? 0 : (extent - 1) / parts + 1;
  return std::clamp<int64_t>(extent - i * size, 0, size);
}

// The number of elements of a Range; the three are scalars of one type.
Result<int64_t> RangeCount(const Tensor& start, const Tensor& limit, const Tensor& delta);

}  // namespace deputy::host
