#include "import/tflite/window.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace deputy::host::tflite_import {
namespace {

constexpr int64_t kMostWindow = 1 << 24;

}  // namespace

Status CheckWindow(const Window& window) {
  for (size_t i = 0; i < 2; ++i) {
    if (window.kernel[i] < 1 || window.kernel[i] > kMostWindow)
      return Error(StatusCode::kModel, "has a kernel of {} x {}", window.kernel[0], window.kernel[1]);
    if (window.strides[i] < 1 || window.strides[i] > kMostWindow)
      return Error(StatusCode::kModel, "has strides of {} x {}", window.strides[0], window.strides[1]);
    if (window.dilations[i] < 1 || window.dilations[i] > kMostWindow)
      return Error(StatusCode::kModel, "has dilations of {} x {}", window.dilations[0], window.dilations[1]);
  }
  return {};
}

Result<NodeAttributes> WindowAttributes(const Window& window, fb::Padding padding, std::span<const int64_t> image,
                                        bool dilates) {
  DEPUTY_RETURN_IF_ERROR(CheckWindow(window));
  if (image.size() != 4) return Error(StatusCode::kModel, "has an input of rank {}, not 4", image.size());
  if (padding != fb::Padding_SAME && padding != fb::Padding_VALID)
    return Error(StatusCode::kModel, "has padding {}, which does not exist", int{padding});
  const auto list = [](const std::array<int64_t, 2>& pair) { return std::vector<int64_t>(pair.begin(), pair.end()); };
  NodeAttributes attributes{{"kernel_shape", list(window.kernel)}, {"strides", list(window.strides)}};
  if (dilates) attributes.push_back({"dilations", list(window.dilations)});
  if (padding == fb::Padding_SAME && (image[2] < 0 || image[3] < 0)) {
    attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
    return attributes;
  }
  std::vector<int64_t> pads(4, 0);
  for (size_t i = 0; i < 2 && padding == fb::Padding_SAME; ++i) {
    const int64_t extent = image[i + 2], stride = window.strides[i];
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t steps = extent / stride + (extent % stride != 0);
    const int64_t total = std::max<int64_t>((steps - 1) * stride + reach - extent, 0);
    pads[i] = total / 2;
    pads[i + 2] = total - total / 2;
  }
  attributes.push_back({"pads", std::move(pads)});
  return attributes;
}

}  // namespace deputy::host::tflite_import
