// Pools over images.
#include "import/tflite/operators.hpp"
#include "import/tflite/window.hpp"

namespace deputy::host::tflite_import {
namespace {

Status ImportPool(const Operation& op, OpKind kind, bool stored) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::PoolOptions>());
  Window window;
  window.kernel = {options->filter_height(), options->filter_width()};
  window.strides = {options->stride_h(), options->stride_w()};
  stored = stored && options->activation() == fb::Activation_NONE;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId image, op.Operand(0, stored, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const NodeAttributes attributes,
                          WindowAttributes(window, options->padding(), op.emit.DimsOf(image), false));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.emit.Emit(kind, {image}, attributes));
  DEPUTY_ASSIGN_OR_RETURN(made, op.Activated(made, options->activation()));
  return op.Set(made, stored, Layout::kChannelsSecond);
}

}  // namespace

// Padding does not count: neither here nor in ONNX, unless it is asked for.
Status AveragePool(const Operation& op) { return ImportPool(op, OpKind::kAveragePool, false); }

Status MaxPool(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(op.input(0), op.output()));
  return ImportPool(op, OpKind::kMaxPool, alike && info->dtype != DType::kInt16);
}

}  // namespace deputy::host::tflite_import
