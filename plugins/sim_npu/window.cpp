#include <algorithm>
#include <string>
#include <vector>

#include "operators.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::NodeView;
using deputy::sdk::Reason;
using deputy::sdk::Verdict;

// The address generators count to 4 and 8.
constexpr int64_t kLargestStride = 4, kLargestDilation = 8;

bool TakePair(const NodeView& node, const char* attribute, std::array<int64_t, 2>& pair) {
  const std::vector<int64_t> values = node.Ints(attribute, {});
  if (values.empty()) return true;
  if (values.size() != 2) return false;
  pair = {values[0], values[1]};
  return true;
}

std::string Text(const std::array<int64_t, 2>& pair) { return std::to_string(pair[0]) + "x" + std::to_string(pair[1]); }

}  // namespace

Window ReadWindow(const NodeView& node, std::array<int64_t, 2> kernel) {
  Window window;
  window.kernel = kernel;
  TakePair(node, "kernel_shape", window.kernel);
  TakePair(node, "strides", window.stride);
  TakePair(node, "dilations", window.dilation);
  const std::string_view automatic = node.String("auto_pad", "NOTSET");
  if (automatic == "NOTSET") {
    const std::vector<int64_t> pads = node.Ints("pads", {0, 0, 0, 0});
    window.begin = {pads[0], pads[1]};
  } else if (automatic != "VALID") {
    const auto in = node.input(0).dims().ToVector(), out = node.output(0).dims().ToVector();
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t total = std::max<int64_t>(window.Span(axis, out[axis + 2]) - in[axis + 2], 0);
      window.begin[axis] = automatic == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
    }
  }
  return window;
}

Verdict CheckWindow(const NodeView& node, std::array<int64_t, 2> kernel, int64_t largest) {
  Window window;
  window.kernel = kernel;
  const std::vector<int64_t> pads = node.Ints("pads", {0, 0, 0, 0});
  if (!TakePair(node, "kernel_shape", window.kernel) || !TakePair(node, "strides", window.stride) ||
      !TakePair(node, "dilations", window.dilation) || pads.size() != 4)
    return Verdict::No(Reason::kAttribute, "the window must have two dimensions");
  const auto outside = [](const std::array<int64_t, 2>& pair, int64_t limit) {
    return pair[0] < 1 || pair[1] < 1 || pair[0] > limit || pair[1] > limit;
  };
  const auto too_large = [](const std::string& name, const std::array<int64_t, 2>& pair, int64_t limit) {
    return Verdict::No(Reason::kAttribute, name + " " + Text(pair) + " is larger than " + Text({limit, limit}));
  };
  if (outside(window.kernel, largest)) return too_large("kernel", window.kernel, largest);
  if (outside(window.stride, kLargestStride)) return too_large("stride", window.stride, kLargestStride);
  if (outside(window.dilation, kLargestDilation)) return too_large("dilation", window.dilation, kLargestDilation);
  if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; }))
    return Verdict::No(Reason::kAttribute, "negative padding");
  return Verdict::Yes();
}

}  // namespace sim_npu
