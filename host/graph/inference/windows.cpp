#include "graph/inference/windows.hpp"

#include <algorithm>

#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

bool IsSame(AutoPad auto_pad) { return auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower; }

// Whether the window keeps every input extent.
bool KeepsExtent(const Window& window, const WindowAxis& axis) {
  if (axis.stride != 1 || axis.output_padding != 0) return false;
  return IsSame(window.auto_pad) || axis.pad_begin + axis.pad_end == axis.reach() - 1;
}

}  // namespace

WindowOptions WindowOptionsOf(const Primitive& primitive) {
  WindowOptions options;
  options.auto_pad = primitive.GetString("auto_pad", "NOTSET");
  options.ceil_mode = primitive.GetInt("ceil_mode", 0) != 0;
  options.kernel = primitive.GetInts("kernel_shape");
  options.strides = primitive.GetInts("strides");
  options.dilations = primitive.GetInts("dilations");
  options.pads = primitive.GetInts("pads");
  options.output_padding = primitive.GetInts("output_padding");
  options.output_shape = primitive.GetInts("output_shape");
  // Some exporters write the whole shape instead of its spatial part.
  const size_t spatial = options.strides.empty() ? options.kernel.size() : options.strides.size();
  if (spatial != 0 && options.output_shape.size() == spatial + 2)
    options.output_shape = options.output_shape.subspan(2);
  return options;
}

Result<Window> WindowForWeights(WindowOptions options, std::span<const int64_t> weight_spatial) {
  if (options.kernel.empty()) {
    options.kernel = weight_spatial;
    return MakeWindow(options);
  }
  const bool agree = std::equal(options.kernel.begin(), options.kernel.end(), weight_spatial.begin(),
                                weight_spatial.end(), [](int64_t a, int64_t b) { return b < 0 || a == b; });
  if (!agree)
    return Error(StatusCode::kModel, "kernel_shape {} does not match the spatial shape of the weights {}",
                 ShapeToString(options.kernel), ShapeToString(weight_spatial));
  return MakeWindow(options);
}

Result<std::vector<int64_t>> InferWindow(const Window& window, std::span<const int64_t> spatial, WindowUse use) {
  if (spatial.size() != window.rank)
    return Error(StatusCode::kModel, "the window has {} spatial axes, the input has {}", window.rank, spatial.size());
  const bool transposed = use == WindowUse::kTransposedConvolution;
  const auto resolve = transposed                ? ResolveTransposedWindow
                       : use == WindowUse::kPool ? ResolvePoolWindow
                                                 : ResolveWindow;
  std::vector<int64_t> dims(spatial.begin(), spatial.end());
  for (size_t i = 0; i < window.rank; ++i) {
    if (spatial[i] < 0) {
      if (transposed && window.output_shape[i] != 0) {
        dims[i] = window.output_shape[i];
      } else if (!KeepsExtent(window, window.axes[i])) {
        dims[i] = kUnknownDim;
      }
      continue;
    }
    Window one = window;
    one.rank = 1;
    one.axes[0] = window.axes[i];
    one.output_shape[0] = window.output_shape[i];
    SpatialDims output;
    const Status status = resolve(one, spatial.subspan(i, 1), output);
    // The place that the single axis has in `one` is not its own.
    if (!status.ok()) return Status(status.code(), status.message()).At("spatial axis " + std::to_string(i));
    dims[i] = output[0];
  }
  return dims;
}

}  // namespace deputy::host
