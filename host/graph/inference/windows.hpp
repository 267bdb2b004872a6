// Sliding windows in models: reads their attributes, and infers extents that may be symbols.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/inference.hpp"
#include "tensor/window.hpp"

namespace deputy::host {

// The attributes of Conv, ConvTranspose and the pools. `kernel` is the attribute kernel_shape, empty where the weights
// decide. The lists belong to the primitive.
WindowOptions WindowOptionsOf(const Primitive& primitive);

// The window of a convolution: kernel_shape, if given, must agree with the known extents of the weights.
Result<Window> WindowForWeights(WindowOptions options, std::span<const int64_t> weight_spatial);

enum class WindowUse { kConvolution, kTransposedConvolution, kPool };

// Output extents for input extents that may be unknown. A symbol stays where the window keeps the extent as it is.
Result<std::vector<int64_t>> InferWindow(const Window& window, std::span<const int64_t> spatial, WindowUse use);

}  // namespace deputy::host
