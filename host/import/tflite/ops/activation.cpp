// Activations, and normalizations along the channels.
#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

using Ids = std::span<const ValueId>;

// Along the last axis of the file's order.
Status AlongChannels(const Operation& op, const std::function<Result<ValueId>(ValueId, int64_t axis)>& make) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  if (rank == 0) return Error(StatusCode::kModel, "has an input of rank 0");
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.CommonLayout(op.inputs()));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, false, layout));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, make(id, AxisIn(layout, rank - 1)));
  return op.Set(made, false, layout);
}

}  // namespace

Status ImportActivation(const Operation& op, fb::Activation activation) {
  return op.Elementwise(false, [&](Ids ids) { return op.Activated(ids[0], activation); });
}

Status Relu0To1(const Operation& op) {
  return op.Elementwise(false, [&](Ids ids) -> Result<ValueId> {
    const DType dtype = op.emit.TypeOf(ids[0]).dtype;
    DEPUTY_ASSIGN_OR_RETURN(const ValueId low, op.emit.Number(0, dtype));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId high, op.emit.Number(1, dtype));
    return op.emit.Emit(OpKind::kClip, {ids[0], low, high});
  });
}

Status PRelu(const Operation& op) {
  return op.Elementwise(false, [&](Ids ids) { return op.emit.Emit(OpKind::kPRelu, {ids[0], ids[1]}); });
}

Status LeakyRelu(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::LeakyReluOptions>());
  return op.Elementwise(false, [&](Ids ids) {
    return op.emit.Emit(OpKind::kLeakyRelu, {ids[0]}, {{"alpha", options->alpha()}});
  });
}

Status Gelu(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::GeluOptions>());
  const std::string how = options->approximate() ? "tanh" : "none";
  return op.Elementwise(false, [&](Ids ids) { return op.emit.Emit(OpKind::kGelu, {ids[0]}, {{"approximate", how}}); });
}

Status Softmax(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::SoftmaxOptions>());
  return AlongChannels(op, [&](ValueId id, int64_t axis) -> Result<ValueId> {
    if (options->beta() != 1.0f) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId beta, op.emit.Number(options->beta(), op.emit.TypeOf(id).dtype));
      DEPUTY_ASSIGN_OR_RETURN(id, op.emit.Emit(OpKind::kMul, {id, beta}));
    }
    return op.emit.Emit(OpKind::kSoftmax, {id}, {{"axis", axis}});
  });
}

Status LogSoftmax(const Operation& op) {
  return AlongChannels(op, [&](ValueId id, int64_t axis) {
    return op.emit.Emit(OpKind::kLogSoftmax, {id}, {{"axis", axis}});
  });
}

Status L2Normalization(const Operation& op) {
  constexpr double kLeastNorm = 1e-6;
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::ActivationOptions>());
  return AlongChannels(op, [&](ValueId id, int64_t axis) -> Result<ValueId> {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&axis, 1}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId norm, op.emit.Emit(OpKind::kReduceL2, {id, axes}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId least, op.emit.Number(kLeastNorm, op.emit.TypeOf(id).dtype));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId divisor, op.emit.Emit(OpKind::kMax, {norm, least}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kDiv, {id, divisor}));
    return op.Activated(made, options->activation());
  });
}

// ONNX divides alpha by the number of channels that are summed.
Status LocalResponseNormalization(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::LocalResponseNormalizationOptions>());
  constexpr int32_t kMostRadius = 1 << 20;
  if (options->radius() < 0 || options->radius() > kMostRadius)
    return Error(StatusCode::kModel, "has a radius of {}", options->radius());
  const int64_t size = int64_t{2} * options->radius() + 1;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, false, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kLRN, {id},
                                                           {{"size", size},
                                                            {"alpha", options->alpha() * static_cast<float>(size)},
                                                            {"beta", options->beta()},
                                                            {"bias", options->bias()}}));
  return op.Set(made, false, Layout::kChannelsSecond);
}

}  // namespace deputy::host::tflite_import
