// How TensorFlow pads windows over an image, as attributes of ONNX operators.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "import/tflite/emitter.hpp"
#include "import/tflite/model_file.hpp"

namespace deputy::host::tflite_import {

// Height first.
struct Window {
  std::array<int64_t, 2> kernel{1, 1}, strides{1, 1}, dilations{1, 1};
};

// Fails for kernels, strides and dilations below 1, or so large that extents would overflow.
Status CheckWindow(const Window& window);

// Kernel, strides, dilations and pads. `image` is the input in channels-second order; if its extents are unknown, the
// operator computes the padding.
Result<NodeAttributes> WindowAttributes(const Window& window, fb::Padding padding, std::span<const int64_t> image,
                                        bool dilates);

}  // namespace deputy::host::tflite_import
