// Convolutions and pools over images. The axes of the weights are permuted, and the axis of per-axis scales with them.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

// Height first.
struct Window {
  std::array<int64_t, 2> kernel{1, 1}, strides{1, 1}, dilations{1, 1};
};

constexpr int64_t kMost = 1 << 24;

// Fails for kernels, strides and dilations below 1, or so large that extents would overflow.
Status CheckWindow(const Window& window) {
  for (size_t i = 0; i < 2; ++i) {
    if (window.kernel[i] < 1 || window.kernel[i] > kMost)
      return Error(StatusCode::kModel, "kernel sizes must be between 1 and {}, got {} x {}", kMost, window.kernel[0],
                   window.kernel[1]);
    if (window.strides[i] < 1 || window.strides[i] > kMost)
      return Error(StatusCode::kModel, "strides must be between 1 and {}, got {} x {}", kMost, window.strides[0],
                   window.strides[1]);
    if (window.dilations[i] < 1 || window.dilations[i] > kMost)
      return Error(StatusCode::kModel, "dilations must be between 1 and {}, got {} x {}", kMost, window.dilations[0],
                   window.dilations[1]);
  }
  return {};
}

// Kernel, strides, dilations and pads. `image` is the input in channels-second order; if its extents are unknown, the
// operator computes the padding.
Result<NodeAttributes> WindowAttributes(const Window& window, fb::Padding padding, std::span<const int64_t> image,
                                        bool dilates) {
  DEPUTY_RETURN_IF_ERROR(CheckWindow(window));
  if (image.size() != 4) return Error(StatusCode::kModel, "input has rank {}, expected 4", image.size());
  if (padding != fb::Padding_SAME && padding != fb::Padding_VALID)
    return Error(StatusCode::kModel, "has the invalid padding {}", int{padding});
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
      return Error(StatusCode::kModel, "{} input channels do not match weights for {} channels", channels, weights[0]);
    return group;
  }
  if (channels < 0) return 1;
  if (inner < 1 || channels % inner != 0 || channels == 0)
    return Error(StatusCode::kModel, "{} input channels do not match weights for {} channels", channels, inner);
  return channels / inner;
}

Status ImportConv(const Operation& op, ConvParts parts) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId image, op.Operand(0, false, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId weights,
                          op.tensors.Weights(op.input(1), parts.depthwise ? kFromDepthwise : kFromConv));
  const std::vector<int64_t> dims = op.emit.DimsOf(weights);
  if (dims.size() != 4 || std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; }))
    return Error(StatusCode::kNotSupported, "weights must have rank 4 and no dynamic extents");
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

Window WindowOf(const fb::PoolOptions& options) {
  Window window;
  window.kernel = {options.filter_height(), options.filter_width()};
  window.strides = {options.stride_h(), options.stride_w()};
  return window;
}

Status ImportPool(const Operation& op, OpKind kind, bool stored) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::PoolOptions>());
  stored = stored && options->activation() == fb::Activation_NONE;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId image, op.Operand(0, stored, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const NodeAttributes attributes,
                          WindowAttributes(WindowOf(*options), options->padding(), op.emit.DimsOf(image), false));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.emit.Emit(kind, {image}, attributes));
  DEPUTY_ASSIGN_OR_RETURN(made, op.Activated(made, options->activation()));
  return op.Set(made, stored, Layout::kChannelsSecond);
}

// The mean of stored elements, rounded to the nearest and ties away from zero, as in LiteRT: one quantization step in a
// mean over an image can become many after a product with large weights.
Status AverageStored(const Operation& op, const Window& window, fb::Padding padding, DType dtype) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId image, op.Operand(0, true, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const NodeAttributes attributes,
                          WindowAttributes(window, padding, op.emit.DimsOf(image), false));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId numbers, op.emit.Cast(image, DType::kFloat32));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId mean, op.emit.Emit(OpKind::kAveragePool, {numbers}, attributes));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId half, op.emit.Number(0.5, DType::kFloat32));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId sign, op.emit.Emit(OpKind::kSign, {mean}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId away, op.emit.Emit(OpKind::kMul, {sign, half}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId sum, op.emit.Emit(OpKind::kAdd, {mean, away}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Cast(sum, dtype));
  return op.Set(made, true, Layout::kChannelsSecond);
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
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, op.tensors.Ints(op.input(0), "output_shape"));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId image, op.Operand(2, false, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId weights, op.tensors.Weights(op.input(1), kFromTransposed));
  const std::vector<int64_t> dims = op.emit.DimsOf(weights), in = op.emit.DimsOf(image);
  if (shape.size() != 4 || dims.size() != 4 || in[2] < 0 || in[3] < 0 || dims[1] < 0 || dims[2] < 0 || dims[3] < 0)
    return Error(StatusCode::kNotSupported,
                 "output_shape must have 4 elements, and input and weights static spatial extents");
  Window window;
  window.kernel = {dims[2], dims[3]};
  window.strides = {options->stride_h(), options->stride_w()};
  DEPUTY_RETURN_IF_ERROR(CheckWindow(window));
  std::vector<int64_t> pads(4, 0), beyond(2, 0);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t full = (in[i + 2] - 1) * window.strides[i] + window.kernel[i], out = shape[i + 1];
    if (out < 1 || out > full + window.strides[i])
      return Error(StatusCode::kModel,
                   "output extent {} is out of range for input extent {}, stride {} and kernel size {}", out, in[i + 2],
                   window.strides[i], window.kernel[i]);
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

// Padding is excluded here and in ONNX by default.
Status AveragePool(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::PoolOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(op.input(0), op.output()));
  if (!info->is_quantized() || !alike || options->activation() != fb::Activation_NONE)
    return ImportPool(op, OpKind::kAveragePool, false);
  return AverageStored(op, WindowOf(*options), options->padding(), info->dtype);
}

Status MaxPool(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(op.input(0), op.output()));
  return ImportPool(op, OpKind::kMaxPool, alike && info->dtype != DType::kInt16);
}

}  // namespace deputy::host::tflite_import
