#include "tensor/window.hpp"

#include <algorithm>
#include <string>

#include "base/checked.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kLargestValue = (int64_t{1} << 31) - 1;
// No tensor in memory has a larger extent; sums with the values above stay far from overflow.
constexpr int64_t kLargestExtent = int64_t{1} << 48;

constexpr int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

Result<AutoPad> ParseAutoPad(std::string_view text) {
  if (text.empty() || text == "NOTSET") return AutoPad::kNotSet;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  if (text == "VALID") return AutoPad::kValid;
  return Error(StatusCode::kModel, "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, got '{}'", text);
}

Status CheckList(std::span<const int64_t> values, size_t length, int64_t least, const char* name) {
  if (values.empty()) return Status();
  if (values.size() != length)
    return Error(StatusCode::kModel, "{} has {} elements, expected {}", name, values.size(), length);
  for (const int64_t value : values)
    if (value < least || value > kLargestValue)
      return Error(StatusCode::kModel, "{} {} has a value out of range [{}, {}]", name, ShapeToString(values), least,
                   kLargestValue);
  return Status();
}

// Splits `total` in two; the odd one goes to the end when `larger_end`.
void SetPads(WindowAxis& axis, int64_t total, bool larger_end) {
  const int64_t smaller = total / 2;
  axis.pad_begin = larger_end ? smaller : total - smaller;
  axis.pad_end = total - axis.pad_begin;
}

Status ResolveForward(Window& window, std::span<const int64_t> input, bool may_overhang, SpatialDims& output) {
  if (input.size() != window.rank)
    return Error(StatusCode::kInvalidArgument, "kernel_shape has {} spatial axes, but the input has {}", window.rank,
                 input.size());
  for (size_t i = 0; i < window.rank; ++i) {
    WindowAxis& axis = window.axes[i];
    const int64_t extent = input[i];
    if (extent > kLargestExtent) return Error(StatusCode::kModel, "extent {} is too large", extent);
    if (window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower) {
      const int64_t wanted = DivideUp(extent, axis.stride);
      const int64_t total = std::max<int64_t>((wanted - 1) * axis.stride + axis.reach() - extent, 0);
      SetPads(axis, total, window.auto_pad == AutoPad::kSameUpper);
      output[i] = wanted;
      continue;
    }
    const int64_t room = extent + axis.pad_begin + axis.pad_end - axis.reach();
    const int64_t least = may_overhang && extent > 0 ? 1 - 2 * axis.stride : 0;
    if (room < least)
      return Error(StatusCode::kModel, "kernel size {} exceeds padded input size {}", axis.reach(),
                   extent + axis.pad_begin + axis.pad_end)
          .At("spatial axis " + std::to_string(i));
    // Without a remainder to round up, division rounds towards zero.
    output[i] = (window.ceil_mode && room > 0 ? DivideUp(room, axis.stride) : room / axis.stride) + 1;
    // A last window that starts beyond the input would contain only padding.
    if (window.ceil_mode && (output[i] - 1) * axis.stride >= extent + axis.pad_begin) --output[i];
  }
  return Status();
}

}  // namespace

bool Window::IsPointwise() const {
  return std::all_of(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(rank), [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  });
}

Result<Window> MakeWindow(const WindowOptions& options) {
  const size_t rank = options.kernel.size();
  if (rank == 0) return Error(StatusCode::kModel, "kernel_shape must have at least one spatial axis");
  if (rank > kMaxWindowAxes)
    return Error(StatusCode::kNotSupported, "{} spatial axes are not supported, only up to {}", rank, kMaxWindowAxes);
  DEPUTY_RETURN_IF_ERROR(CheckList(options.kernel, rank, 1, "kernel_shape"));
  DEPUTY_RETURN_IF_ERROR(CheckList(options.strides, rank, 1, "strides"));
  DEPUTY_RETURN_IF_ERROR(CheckList(options.dilations, rank, 1, "dilations"));
  DEPUTY_RETURN_IF_ERROR(CheckList(options.pads, 2 * rank, 0, "pads"));
  DEPUTY_RETURN_IF_ERROR(CheckList(options.output_padding, rank, 0, "output_padding"));
  DEPUTY_RETURN_IF_ERROR(CheckList(options.output_shape, rank, 1, "output_shape"));
  Window window;
  DEPUTY_ASSIGN_OR_RETURN(window.auto_pad, ParseAutoPad(options.auto_pad));
  window.ceil_mode = options.ceil_mode;
  window.rank = rank;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = window.axes[i];
    axis.kernel = options.kernel[i];
    if (!options.strides.empty()) axis.stride = options.strides[i];
    if (!options.dilations.empty()) axis.dilation = options.dilations[i];
    if (!options.output_padding.empty()) axis.output_padding = options.output_padding[i];
    if (!options.output_shape.empty()) window.output_shape[i] = options.output_shape[i];
    if (!options.pads.empty() && window.auto_pad == AutoPad::kNotSet) {
      axis.pad_begin = options.pads[i];
      axis.pad_end = options.pads[i + rank];
    }
  }
  return window;
}

Status ResolveWindow(Window& window, std::span<const int64_t> input, SpatialDims& output) {
  return ResolveForward(window, input, /*may_overhang=*/false, output);
}

Status ResolvePoolWindow(Window& window, std::span<const int64_t> input, SpatialDims& output) {
  return ResolveForward(window, input, /*may_overhang=*/true, output);
}

Status ResolveTransposedWindow(Window& window, std::span<const int64_t> input, SpatialDims& output) {
  if (input.size() != window.rank)
    return Error(StatusCode::kInvalidArgument, "kernel_shape has {} spatial axes, but the input has {}", window.rank,
                 input.size());
  for (size_t i = 0; i < window.rank; ++i) {
    WindowAxis& axis = window.axes[i];
    const auto spread = CheckedMultiply<int64_t>(axis.stride, std::max<int64_t>(input[i] - 1, 0));
    const auto full = spread ? CheckedAdd<int64_t>(*spread, axis.output_padding + axis.reach()) : std::nullopt;
    if (!full || *full > kLargestExtent || input[i] == 0)
      return Error(StatusCode::kModel, "input extent {} with stride {} gives no valid output", input[i], axis.stride);
    const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
    const int64_t wanted = window.output_shape[i] != 0 ? window.output_shape[i] : same ? input[i] * axis.stride : 0;
    if (wanted != 0) SetPads(axis, std::max<int64_t>(*full - wanted, 0), window.auto_pad == AutoPad::kSameUpper);
    output[i] = window.output_shape[i] != 0 ? wanted : *full - axis.pad_begin - axis.pad_end;
    if (output[i] < 1)
      return Error(StatusCode::kModel, "padding {} leaves no output: the extent before padding is {}",
                   axis.pad_begin + axis.pad_end, *full);
  }
  return Status();
}

void DropUnitAxes(Window& window, SpatialDims& input, SpatialDims& output) {
  size_t kept = 0;
  for (size_t i = 0; i < window.rank; ++i) {
    const bool unit = input[i] == 1 && output[i] == 1 && window.axes[i].kernel == 1 && window.axes[i].pad_begin == 0;
    if (unit && (kept > 0 || i + 1 < window.rank)) continue;
    window.axes[kept] = window.axes[i];
    input[kept] = input[i];
    output[kept] = output[i];
    ++kept;
  }
  window.rank = kept;
}

TapRange OutputsInside(const WindowAxis& axis, int64_t tap, int64_t extent, int64_t count) {
  const int64_t offset = tap * axis.dilation - axis.pad_begin;  // output o reads o * stride + offset
  const int64_t first = offset < 0 ? DivideUp(-offset, axis.stride) : 0;
  const int64_t last = offset >= extent ? 0 : (extent - 1 - offset) / axis.stride + 1;
  TapRange range{std::min(first, count), std::min(last, count)};
  if (range.last < range.first) range.last = range.first;
  return range;
}

TapRange TapsInside(const WindowAxis& axis, int64_t position, int64_t extent) {
  const int64_t start = position * axis.stride - axis.pad_begin;  // tap t reads start + t * dilation
  const int64_t first = start < 0 ? DivideUp(-start, axis.dilation) : 0;
  const int64_t last = start >= extent ? 0 : (extent - 1 - start) / axis.dilation + 1;
  TapRange range{std::min(first, axis.kernel), std::min(last, axis.kernel)};
  if (range.last < range.first) range.last = range.first;
  return range;
}

}  // namespace deputy::host
