// Element-wise operators, activations, and normalizations along the channels.
#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {

using Ids = std::span<const ValueId>;

Status ImportUnary(const Operation& op, OpKind kind) {
  return op.Elementwise(false, [&](Ids ids) { return op.emit.Emit(kind, {ids[0]}); });
}

Status ImportBinary(const Operation& op, OpKind kind) {
  return op.Elementwise(false, [&](Ids ids) { return op.emit.Emit(kind, {ids[0], ids[1]}); });
}

Status ImportArithmetic(const Operation& op, OpKind kind) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::ActivationOptions>());
  return op.Elementwise(false, [&](Ids ids) -> Result<ValueId> {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(kind, {ids[0], ids[1]}));
    return op.Activated(made, options->activation());
  });
}

Status ImportExtremum(const Operation& op, OpKind kind) {
  return op.ElementwiseWhereAlike([&](Ids ids) { return op.emit.Emit(kind, {ids[0], ids[1]}); });
}

Status ImportComparison(const Operation& op, OpKind kind) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.input(1)));
  return op.Elementwise(stored, [&](Ids ids) { return op.emit.Emit(kind, {ids[0], ids[1]}); });
}

Status NotEqual(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.input(1)));
  return op.Elementwise(stored, [&](Ids ids) -> Result<ValueId> {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId equal, op.emit.Emit(OpKind::kEqual, {ids[0], ids[1]}));
    return op.emit.Emit(OpKind::kNot, {equal});
  });
}

Status AddN(const Operation& op) {
  return op.Elementwise(false, [&](Ids ids) -> Result<ValueId> {
    ValueId sum = ids[0];
    for (const ValueId id : ids.subspan(1)) {
      DEPUTY_ASSIGN_OR_RETURN(sum, op.emit.Emit(OpKind::kAdd, {sum, id}));
    }
    return ids.size() == 1 ? op.emit.Emit(OpKind::kIdentity, {sum}) : Result<ValueId>(sum);
  });
}

Status Square(const Operation& op) {
  return op.Elementwise(false, [&](Ids ids) { return op.emit.Emit(OpKind::kMul, {ids[0], ids[0]}); });
}

Status SquaredDifference(const Operation& op) {
  return op.Elementwise(false, [&](Ids ids) -> Result<ValueId> {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId difference, op.emit.Emit(OpKind::kSub, {ids[0], ids[1]}));
    return op.emit.Emit(OpKind::kMul, {difference, difference});
  });
}

Status Rsqrt(const Operation& op) {
  return op.Elementwise(false, [&](Ids ids) -> Result<ValueId> {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId root, op.emit.Emit(OpKind::kSqrt, {ids[0]}));
    return op.emit.Emit(OpKind::kReciprocal, {root});
  });
}

// Rounds towards minus infinity: the remainder has the divisor's sign.
Status FloorDiv(const Operation& op) {
  return op.Elementwise(false, [&](Ids ids) -> Result<ValueId> {
    const DType dtype = op.emit.TypeOf(ids[0]).dtype;
    if (dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kFloat64) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId quotient, op.emit.Emit(OpKind::kDiv, {ids[0], ids[1]}));
      return op.emit.Emit(OpKind::kFloor, {quotient});
    }
    DEPUTY_ASSIGN_OR_RETURN(const ValueId rest, op.emit.Emit(OpKind::kMod, {ids[0], ids[1]}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId whole, op.emit.Emit(OpKind::kSub, {ids[0], rest}));
    return op.emit.Emit(OpKind::kDiv, {whole, ids[1]});
  });
}

Status FloorMod(const Operation& op) {
  return op.Elementwise(false, [&](Ids ids) -> Result<ValueId> {
    const DType dtype = op.emit.TypeOf(ids[0]).dtype;
    if (dtype != DType::kInt32 && dtype != DType::kInt64 && dtype != DType::kInt16 && dtype != DType::kInt8)
      return Error(StatusCode::kNotSupported, "dtype {} is not supported, expected int8, int16, int32 or int64",
                   NameOf(dtype));
    return op.emit.Emit(OpKind::kMod, {ids[0], ids[1]});
  });
}

namespace {

Status SelectAlike(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool first, op.Alike(op.input(1), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const bool second, op.Alike(op.input(2), op.output()));
  return op.Elementwise(first && second, [&](Ids ids) {
    return op.emit.Emit(OpKind::kWhere, {ids[0], ids[1], ids[2]});
  });
}

}  // namespace

// A condition of rank 1 selects whole rows.
Status Select(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t condition_rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(1)));
  if (condition_rank != 1 || rank <= 1) return SelectAlike(op);
  DEPUTY_ASSIGN_OR_RETURN(const ValueId condition, op.Operand(0, true));
  std::vector<int64_t> axes;
  for (size_t axis = 1; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints(axes));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId rows, op.emit.Emit(OpKind::kUnsqueeze, {condition, list}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId first, op.Operand(1, false));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId second, op.Operand(2, false));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kWhere, {rows, first, second}));
  return op.Set(made, false);
}

Status SelectV2(const Operation& op) { return SelectAlike(op); }

Status Cast(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* from, op.tensors.Info(op.input(0)));
  if (info->is_complex) return Error(StatusCode::kNotSupported, "a cast to complex elements is not supported");
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.CommonLayout(op.inputs()));
  DEPUTY_ASSIGN_OR_RETURN(ValueId id, op.Operand(0, true, layout));
  if (from->is_complex) {  // a complex number is converted to its real part
    DEPUTY_ASSIGN_OR_RETURN(const ValueId real, op.emit.Int(0));
    DEPUTY_ASSIGN_OR_RETURN(id, op.emit.Emit(OpKind::kGather, {id, real}, {{"axis", int64_t{-1}}}));
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made,
                          op.emit.Emit(OpKind::kCast, {id}, {{"to", static_cast<int64_t>(info->dtype)}}));
  return op.Set(made, true, layout);
}

// The real numbers, converted to the output's quantization.
Status Quantize(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.output()));
  if (!info->is_quantized()) return Error(StatusCode::kModel, "the output has no quantization scale");
  return op.Elementwise(false, [&](Ids ids) { return op.emit.Cast(ids[0], DType::kFloat32); });
}

Status Dequantize(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.output()));
  return op.Elementwise(false, [&](Ids ids) { return op.emit.Cast(ids[0], info->dtype); });
}

// Sparse constants are imported as dense ones.
Status Densify(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.tensors.Stored(op.input(0)));
  return op.tensors.SetStored(op.output(), id);
}

namespace {

using Ids = std::span<const ValueId>;

// Along the last axis of the file's order.
Status AlongChannels(const Operation& op, const std::function<Result<ValueId>(ValueId, int64_t axis)>& make) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  if (rank == 0) return Error(StatusCode::kModel, "input must have at least rank 1, got a scalar");
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
    return Error(StatusCode::kModel, "radius must be between 0 and {}, got {}", kMostRadius, options->radius());
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
