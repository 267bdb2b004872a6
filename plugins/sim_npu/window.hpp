// The sliding window of convolutions and pools: kernel, stride, dilation and start, for height and width.
#pragma once

#include <array>
#include <cstdint>

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

struct Window {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int64_t, 2> begin{0, 0};  // padding above and to the left

  // Extent of the input that `outputs` positions of the window touch.
  int64_t Span(size_t axis, int64_t outputs) const {
    return (outputs - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1;
  }
};

// `kernel` is {0, 0} where the node must have kernel_shape. Only for nodes that CheckWindow accepts.
Window ReadWindow(const deputy::sdk::NodeView& node, std::array<int64_t, 2> kernel);
// Does it fit the hardware: a two-dimensional window of at most `largest` elements a side?
deputy::sdk::Verdict CheckWindow(const deputy::sdk::NodeView& node, std::array<int64_t, 2> kernel, int64_t largest);

}  // namespace sim_npu
