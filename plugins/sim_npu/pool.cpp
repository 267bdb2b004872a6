// Pools over windows and over whole planes. The pooling unit reads a plane at a time.
#include <algorithm>
#include <cmath>
#include <limits>

#include "operators.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::Host;
using deputy::sdk::NodeView;
using deputy::sdk::Reason;
using deputy::sdk::Verdict;

constexpr int64_t kLargestPoolKernel = 16;

class Pool final : public Layer {
 public:
  Pool(const NodeView& node, const Window& window, bool average)
      : window_(window), average_(average), count_padding_(node.Int("count_include_pad", 0) != 0) {
    const auto in = node.input(0).dims(), out = node.output(0).dims();
    operands_ = {0};
    planes_ = in[0] * in[1], height_ = in[2], width_ = in[3], out_height_ = out[2], out_width_ = out[3];
    macs_ = static_cast<uint64_t>(planes_ * out_height_ * out_width_ * window.kernel[0] * window.kernel[1]);
  }

  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    host.ParallelFor(planes_, 4, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const float* from = inputs[0] + plane * height_ * width_;
        float* to = output + plane * out_height_ * out_width_;
        for (int64_t y = 0; y < out_height_; ++y)
          for (int64_t x = 0; x < out_width_; ++x) *to++ = Reduce(from, y, x);
      }
    });
  }

 private:
  float Reduce(const float* from, int64_t y, int64_t x) const {
    const int64_t top = y * window_.stride[0] - window_.begin[0], left = x * window_.stride[1] - window_.begin[1];
    const int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(top + window_.kernel[0], height_);
    const int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(left + window_.kernel[1], width_);
    float sum = 0, largest = -std::numeric_limits<float>::infinity();
    for (int64_t i = y0; i < y1; ++i)
      for (int64_t j = x0; j < x1; ++j) {
        sum += from[i * width_ + j];
        const float value = from[i * width_ + j];
        if (value > largest || std::isnan(value)) largest = value;  // as the host's kernels
      }
    if (!average_) return largest;
    const int64_t count = count_padding_ ? window_.kernel[0] * window_.kernel[1] : (y1 - y0) * (x1 - x0);
    return sum / static_cast<float>(std::max<int64_t>(count, 1));
  }

  Window window_;
  bool average_, count_padding_;
  int64_t planes_, height_, width_, out_height_, out_width_;
};

// Whether the window covers more than the input and its padding; SAME pads as much as needed.
bool IsLargerThanInput(const NodeView& node) {
  const std::string_view automatic = node.String("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID") return false;
  const std::vector<int64_t> none(4, 0), pads = automatic == "VALID" ? none : node.Ints("pads", none);
  const Window window = ReadWindow(node, {0, 0});
  for (size_t axis = 0; axis < 2; ++axis)
    if (window.Span(axis, 1) > node.input(0).dims()[axis + 2] + pads[axis] + pads[axis + 2]) return true;
  return false;
}

// Windows without an element of the input: their maximum is -inf here and the lowest float32 on the host.
bool HasWindowsInPadding(const NodeView& node) {
  const Window window = ReadWindow(node, {0, 0});
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t last = window.Span(axis, node.output(0).dims()[axis + 2]) - window.kernel[axis];
    if (window.begin[axis] >= window.kernel[axis] || last - window.begin[axis] >= node.input(0).dims()[axis + 2])
      return true;
  }
  return false;
}

}  // namespace

Verdict CheckPool(const NodeView& node) {
  if (node.Ints("kernel_shape", {}).size() != 2)
    return Verdict::No(Reason::kAttribute, "the window must have two dimensions");
  for (const int64_t dilation : node.Ints("dilations", {}))
    if (dilation != 1) return Verdict::No(Reason::kAttribute, "the pooling unit does not support dilations");
  if (node.Is("AveragePool") && node.Int("ceil_mode", 0) != 0 && node.Int("count_include_pad", 0) != 0)
    return Verdict::No(Reason::kAttribute, "ceil_mode with count_include_pad");
  const Verdict fits = CheckWindow(node, {0, 0}, kLargestPoolKernel);
  if (!fits.supported()) return fits;
  if (node.Is("AveragePool") && node.Int("count_include_pad", 0) != 0 && IsLargerThanInput(node))
    return Verdict::No(Reason::kAttribute, "count_include_pad with a window larger than the padded input");
  if (node.Is("MaxPool") && HasWindowsInPadding(node))
    return Verdict::No(Reason::kAttribute, "a window lies wholly in the padding");
  return fits;
}

std::unique_ptr<Layer> MakePool(const NodeView& node, Constants&) {
  return std::make_unique<Pool>(node, ReadWindow(node, {0, 0}), node.Is("AveragePool"));
}

Verdict CheckGlobalPool(const NodeView&) { return Verdict::Yes(); }

std::unique_ptr<Layer> MakeGlobalPool(const NodeView& node, Constants&) {
  Window whole;
  whole.kernel = {node.input(0).dims()[2], node.input(0).dims()[3]};
  return std::make_unique<Pool>(node, whole, node.Is("GlobalAveragePool"));
}

}  // namespace sim_npu
