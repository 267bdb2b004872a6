// Convolutions. The axes of their weights are permuted, and the axis of per-axis scales with them.
#include <algorithm>
#include <array>

#include "import/tflite/bias.hpp"
#include "import/tflite/operators.hpp"
#include "import/tflite/window.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr std::array<int64_t, 4> kFromConv{0, 3, 1, 2};        // [out, h, w, in] to [out, in, h, w]
constexpr std::array<int64_t, 4> kFromDepthwise{3, 0, 1, 2};   // [1, h, w, out] to [out, 1, h, w]
constexpr std::array<int64_t, 4> kFromTransposed{3, 0, 1, 2};  // [out, h, w, in] to [in, out, h, w]

struct ConvParts {
  fb::Padding padding;
  fb::Activation activation;
  Window window;  // without the kernel, which is that of the weights
  bool depthwise;
};

Result<int64_t> GroupOf(std::span<const int64_t> image, std::span<const int64_t> weights, bool depthwise) {
  const int64_t channels = image[1], inner = weights[1];
  if (depthwise) {
    const int64_t group = channels < 0 ? weights[0] : channels;
    if (inner != 1 || group < 1 || weights[0] % group != 0)
      return Error(StatusCode::kModel, "{} channels do not fit weights for {}", channels, weights[0]);
    return group;
  }
  if (channels < 0) return 1;
  if (inner < 1 || channels % inner != 0 || channels == 0)
    return Error(StatusCode::kModel, "{} channels do not fit weights for {}", channels, inner);
  return channels / inner;
}

Status ImportConv(const Operation& op, ConvParts parts) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId image, op.Operand(0, false, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId weights,
                          op.tensors.Weights(op.input(1), parts.depthwise ? kFromDepthwise : kFromConv));
  const std::vector<int64_t> dims = op.emit.DimsOf(weights);
  if (dims.size() != 4 || std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; }))
    return Error(StatusCode::kNotSupported, "has weights without extents that are known before the run");
  parts.window.kernel = {dims[2], dims[3]};
  DEPUTY_ASSIGN_OR_RETURN(NodeAttributes attributes,
                          WindowAttributes(parts.window, parts.padding, op.emit.DimsOf(image), true));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t group, GroupOf(op.emit.DimsOf(image), dims, parts.depthwise));
  attributes.push_back({"group", group});
  DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, ImportBias(op, {0, 1, 2}, dims[0]));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.emit.Emit(OpKind::kConv, {image, weights, bias}, attributes));
  DEPUTY_ASSIGN_OR_RETURN(made, op.Activated(made, parts.activation));
  return op.Set(made, false, Layout::kChannelsSecond);
}

}  // namespace

Status Conv(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::ConvOptions>());
  Window window;
  window.strides = {options->stride_h(), options->stride_w()};
  window.dilations = {options->dilation_h(), options->dilation_w()};
  return ImportConv(op, {options->padding(), options->activation(), window, false});
}

Status DepthwiseConv(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::DepthwiseConvOptions>());
  Window window;
  window.strides = {options->stride_h(), options->stride_w()};
  window.dilations = {options->dilation_h(), options->dilation_w()};
  return ImportConv(op, {options->padding(), options->activation(), window, true});
}

// The shape of the result is given; padding removes the rest.
Status TransposeConv(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::TransposeConvOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, op.tensors.Ints(op.input(0), "the shape of the result"));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId image, op.Operand(2, false, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId weights, op.tensors.Weights(op.input(1), kFromTransposed));
  const std::vector<int64_t> dims = op.emit.DimsOf(weights), in = op.emit.DimsOf(image);
  if (shape.size() != 4 || dims.size() != 4 || in[2] < 0 || in[3] < 0 || dims[1] < 0 || dims[2] < 0 || dims[3] < 0)
    return Error(StatusCode::kNotSupported, "has an image or weights without extents that are known before the run");
  Window window;
  window.kernel = {dims[2], dims[3]};
  window.strides = {options->stride_h(), options->stride_w()};
  DEPUTY_RETURN_IF_ERROR(CheckWindow(window));
  std::vector<int64_t> pads(4, 0), beyond(2, 0);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t full = (in[i + 2] - 1) * window.strides[i] + window.kernel[i], out = shape[i + 1];
    if (out < 1 || out > full + window.strides[i])
      return Error(StatusCode::kModel, "makes {} of {} steps of {}, kernel {}", out, in[i + 2], window.strides[i],
                   window.kernel[i]);
    const int64_t total = std::max<int64_t>(full - out, 0);
    pads[i] = total / 2;
    pads[i + 2] = total - total / 2;
    beyond[i] = std::max<int64_t>(out - full, 0);
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, ImportBias(op, {2, 1, 3}, dims[1]));
  const auto list = [](const std::array<int64_t, 2>& pair) { return std::vector<int64_t>(pair.begin(), pair.end()); };
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.emit.Emit(OpKind::kConvTranspose, {image, weights, bias},
                                                     {{"kernel_shape", list(window.kernel)},
                                                      {"strides", list(window.strides)},
                                                      {"pads", std::move(pads)},
                                                      {"output_padding", std::move(beyond)}}));
  DEPUTY_ASSIGN_OR_RETURN(made, op.Activated(made, options->activation()));
  return op.Set(made, false, Layout::kChannelsSecond);
}

}  // namespace deputy::host::tflite_import
