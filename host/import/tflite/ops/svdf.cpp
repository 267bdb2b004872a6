// SVDF: each filter weighs the features of the last runs, which its state holds, the latest one at the end.
#include <array>

#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr size_t kFeatureWeights = 1, kTimeWeights = 2, kBias = 3, kState = 4;

struct SvdfShape {
  int64_t batch, units, rank, memory;
  int64_t filters() const { return units * rank; }
};

Result<SvdfShape> SvdfShapeOf(const Operation& op, int64_t rank, const TensorInfo& state) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* feature, op.tensors.Info(op.input(kFeatureWeights)));
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* time, op.tensors.Info(op.input(kTimeWeights)));
  const bool fits = rank >= 1 && feature->dims.size() == 2 && time->dims.size() == 2 && state.dims.size() == 2 &&
                    feature->dims[0] >= 1 && feature->dims[0] % rank == 0 && time->dims[0] == feature->dims[0] &&
                    time->dims[1] >= 1 && state.dims[0] >= 1 && state.dims[1] % feature->dims[0] == 0 &&
                    state.dims[1] / feature->dims[0] == time->dims[1];
  if (!fits) return Error(StatusCode::kModel, "the shapes of the weights and of the state do not match");
  return SvdfShape{state.dims[0], feature->dims[0] / rank, rank, time->dims[1]};
}

Result<ValueId> Reshaped(const Operation& op, ValueId id, std::span<const int64_t> dims) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Ints(dims));
  return op.emit.Emit(OpKind::kReshape, {id, shape});
}

Result<ValueId> SumOfLastAxis(const Operation& op, ValueId id) {
  const int64_t last = -1;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&last, 1}));
  return op.emit.Emit(OpKind::kReduceSum, {id, axes}, {{"keepdims", int64_t{0}}});
}

// Integers are sums of products of the state and the weights of time.
Result<ValueId> Bias(const Operation& op, const TensorInfo& state) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(kBias)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, op.tensors.Stored(op.input(kBias)));
  if (info->dtype != DType::kInt32) return bias;
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* time, op.tensors.Info(op.input(kTimeWeights)));
  if (!state.is_quantized() || !time->is_quantized() || time->quantization.per_axis())
    return Error(StatusCode::kModel,
                 "an integer bias requires a quantized state and weights that are quantized per tensor");
  const Quantization sums{{state.quantization.scales[0] * time->quantization.scales[0]}, {0}, 0};
  return op.tensors.Dequantized(bias, sums, DType::kInt32, 0);
}

}  // namespace

Status Svdf(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::SvdfOptions>());
  if (!op.has_input(kState)) return Error(StatusCode::kModel, "the state input is missing");
  DEPUTY_ASSIGN_OR_RETURN(const VariableId variable, op.tensors.VariableOf(op.input(kState)));
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* state, op.tensors.Info(op.input(kState)));
  DEPUTY_ASSIGN_OR_RETURN(const SvdfShape shape, SvdfShapeOf(op, options->rank(), *state));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId before, op.scope.Read(variable));

  DEPUTY_ASSIGN_OR_RETURN(const ValueId input, op.Operand(0, false));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId weights, op.tensors.Real(op.input(kFeatureWeights)));
  DEPUTY_ASSIGN_OR_RETURN(ValueId features, op.emit.Emit(OpKind::kGemm, {input, weights}, {{"transB", int64_t{1}}}));
  if (state->is_quantized()) {
    DEPUTY_ASSIGN_OR_RETURN(features, op.tensors.Quantized(features, *state, 0));
  }
  if (op.emit.TypeOf(features).dtype != state->dtype)
    return Error(StatusCode::kNotSupported, "a state of {} is not supported for this input", NameOf(state->dtype));

  const std::array<int64_t, 3> latest_dims{shape.batch, shape.filters(), 1};
  DEPUTY_ASSIGN_OR_RETURN(const ValueId latest, Reshaped(op, features, latest_dims));
  ValueId remembered = latest;
  if (shape.memory > 1) {
    const std::array<int64_t, 3> dims{shape.batch, shape.filters(), shape.memory};
    DEPUTY_ASSIGN_OR_RETURN(const ValueId all, Reshaped(op, before, dims));
    const int64_t axis = 2, first = 1;
    DEPUTY_ASSIGN_OR_RETURN(const ValueId begin, op.emit.Ints({&first, 1}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId end, op.emit.Ints({&shape.memory, 1}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&axis, 1}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId kept, op.emit.Emit(OpKind::kSlice, {all, begin, end, axes}));
    DEPUTY_ASSIGN_OR_RETURN(remembered, op.emit.Emit(OpKind::kConcat, {kept, latest}, {{"axis", axis}}));
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId after, Reshaped(op, remembered, state->dims));
  op.scope.Assign(variable, after);

  if (state->is_quantized()) {
    DEPUTY_ASSIGN_OR_RETURN(remembered, op.tensors.Dequantized(remembered, state->quantization, state->dtype, 0));
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId time, op.tensors.Real(op.input(kTimeWeights)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId products, op.emit.Emit(OpKind::kMul, {remembered, time}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId filters, SumOfLastAxis(op, products));
  const std::array<int64_t, 3> unit_dims{shape.batch, shape.units, shape.rank};
  DEPUTY_ASSIGN_OR_RETURN(const ValueId ranks, Reshaped(op, filters, unit_dims));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, SumOfLastAxis(op, ranks));
  if (op.has_input(kBias)) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, Bias(op, *state));
    DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kAdd, {made, bias}));
  }
  DEPUTY_ASSIGN_OR_RETURN(made, op.Activated(made, options->activation()));
  return op.Set(made, false);
}

}  // namespace deputy::host::tflite_import
