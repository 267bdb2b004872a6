// Pools over images.
#include "import/tflite/operators.hpp"
#include "import/tflite/window.hpp"

namespace deputy::host::tflite_import {
namespace {

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
