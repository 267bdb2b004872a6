// UNIDIRECTIONAL_SEQUENCE_LSTM. It becomes an LSTM if ONNX's operator has all of its features; otherwise (quantized
// states, projection, layer normalization, clipping) a Scan over the time steps. The two states are variables.
#include <algorithm>
#include <array>
#include <cstring>

#include "import/tflite/operators.hpp"
#include "import/tflite/ops/integer_lstm.hpp"
#include "import/tflite/ops/lstm_inputs.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr float kLayerNormEpsilon = 1e-8f;
constexpr double kLayerNormBiasStep = 1.0 / 1024;  // of the coefficients' scale

struct Extents {
  int64_t inputs = 0, cells = 0, outputs = 0, batch = 0;
};

class Lstm {
 public:
  explicit Lstm(const Operation& op) : op_(op) {}

  Status Import() {
    DEPUTY_RETURN_IF_ERROR(ReadForm());
    DEPUTY_ASSIGN_OR_RETURN(in_integers_, FitsIntegers());
    DEPUTY_ASSIGN_OR_RETURN(input_, op_.Operand(0, in_integers_));
    if (op_.emit.RankOf(input_) != 3)
      return Error(StatusCode::kModel, "input has rank {}, expected 3", op_.emit.RankOf(input_));
    const VariableId variables[] = {state_variables_[0], state_variables_[1]};
    for (size_t i = 0; i < 2; ++i) {
      DEPUTY_ASSIGN_OR_RETURN(states_[i], op_.scope.Read(variables[i]));
    }
    const bool plain = !quantized_ && !projects_ && !normalizes_ && options_->cell_clip() <= 0 &&
                       options_->activation() == fb::Activation_TANH;
    DEPUTY_ASSIGN_OR_RETURN(const ValueId made, plain ? AsOnnxLstm() : StepByStep());
    for (size_t i = 0; i < 2; ++i) op_.scope.Assign(variables[i], states_[i]);
    return op_.Set(made, made_is_stored_);
  }

 private:
  IntegerLstm InIntegers() const {
    return {op_,
            coupled_,
            projects_,
            input_info_,
            state_infos_,
            hidden_info_,
            options_->cell_clip(),
            options_->proj_clip()};
  }
  // Layer normalization, and another activation than tanh, are computed in real numbers.
  Result<bool> FitsIntegers() const {
    if (!quantized_ || normalizes_ || options_->activation() != fb::Activation_TANH) return false;
    return InIntegers().Fits();
  }

  // Reads which optional inputs are present, and checks that extents agree.
  Status ReadForm() {
    DEPUTY_ASSIGN_OR_RETURN(options_, op_.Options<fb::SequenceLstmOptions>());
    if (options_->diagonal_recurrent_tensors())
      return Error(StatusCode::kNotSupported, "diagonal_recurrent_tensors is not supported");
    if (op_.input_count() != 20 && op_.input_count() != 24)
      return Error(StatusCode::kModel, "has {} inputs, expected 20 or 24", op_.input_count());
    coupled_ = !op_.has_input(kInputWeights);
    projects_ = op_.has_input(kProjectionWeights);
    normalizes_ = op_.has_input(kLayerNorm + kForget);
    for (size_t gate = coupled_ ? kForget : kInput; gate < kGates; ++gate)
      for (const size_t first : {kInputWeights, kRecurrentWeights, kBiases})
        if (!op_.has_input(first + gate)) return Error(StatusCode::kModel, "input {} is missing", first + gate);
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* from_input, op_.tensors.Info(op_.input(kInputWeights + kForget)));
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* from_output, op_.tensors.Info(op_.input(kRecurrentWeights + kForget)));
    if (from_input->dims.size() != 2 || from_output->dims.size() != 2)
      return Error(StatusCode::kModel, "weights must have rank 2");
    for (size_t i = 0; i < 2; ++i) {
      DEPUTY_ASSIGN_OR_RETURN(state_variables_[i], op_.tensors.VariableOf(op_.input(kOutputState + i)));
      DEPUTY_ASSIGN_OR_RETURN(state_infos_[i], op_.tensors.Info(op_.input(kOutputState + i)));
    }
    if (state_infos_[0]->dims.size() != 2) return Error(StatusCode::kModel, "the output state must have rank 2");
    extents_ = {from_input->dims[1], from_input->dims[0], from_output->dims[1], state_infos_[0]->dims[0]};
    const Shape outputs{extents_.batch, extents_.outputs}, cells{extents_.batch, extents_.cells};
    if (state_infos_[0]->dims != outputs || state_infos_[1]->dims != cells ||
        (!projects_ && extents_.outputs != extents_.cells))
      return Error(StatusCode::kModel, "the shapes of the states do not match the weights");
    DEPUTY_ASSIGN_OR_RETURN(input_info_, op_.tensors.Info(op_.input(0)));
    const TensorInfo* const input = input_info_;
    quantized_ = input->is_quantized();
    for (const TensorInfo* state : state_infos_)
      if (state->is_quantized() != quantized_ || (!quantized_ && state->dtype != DType::kFloat32) ||
          state->quantization.per_axis())
        return Error(StatusCode::kNotSupported, "states of {} with an input of {} are not supported",
                     NameOf(state->dtype), NameOf(input->dtype));
    if (!quantized_) return {};
    input_scale_ = static_cast<double>(input->quantization.scales[0]);
    return ReadHidden();
  }

  // What the output is rounded to before the projection. Without one that is the state, unless the file says otherwise.
  Status ReadHidden() {
    hidden_info_ = state_infos_[0];
    const Result<TensorIndex> tensor = op_.Intermediate(kHidden);
    const Result<const TensorInfo*> info =
        tensor.ok() ? op_.tensors.Info(*tensor) : Result<const TensorInfo*>(tensor.status());
    if (info.ok() && (*info)->is_quantized() && !(*info)->quantization.per_axis()) {
      hidden_info_ = *info;
    } else if (projects_) {
      DEPUTY_RETURN_IF_ERROR(info.status());
      return Error(StatusCode::kModel, "the intermediate tensor before the projection must be quantized per tensor");
    }
    return {};
  }

  double ScaleOf(size_t input) const {
    const Result<const TensorInfo*> info = op_.tensors.Info(op_.input(input));
    return info.ok() && (*info)->is_quantized() ? static_cast<double>((*info)->quantization.scales[0]) : 0.0;
  }

  // The scale of an integer bias.
  double BiasScale(size_t gate) const {
    if (normalizes_) return ScaleOf(kLayerNorm + gate) * kLayerNormBiasStep;
    return input_scale_ * ScaleOf(kInputWeights + gate);
  }

  // Weights as real numbers. Integers of 32 bits have this scale. Constants stay constants in every storage type.
  Result<ValueId> Weights(size_t input, const Shape& shape, double scale = 0) {
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op_.tensors.Info(op_.input(input)));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId stored, op_.tensors.Stored(op_.input(input)));
    if (op_.emit.DimsOf(stored) != shape || info->quantization.per_axis())
      return Error(StatusCode::kModel, "the shape or quantization of input {} does not match the other inputs", input);
    const Tensor constant = op_.emit.ConstantOf(stored);
    if (info->dtype == DType::kFloat32) return stored;
    if (constant.empty()) return op_.tensors.Real(op_.input(input));
    const auto count = static_cast<size_t>(constant.element_count());
    DEPUTY_RETURN_IF_ERROR(op_.subgraphs.file.SpendCopy(count * sizeof(float)));
    if (info->is_quantized()) scale = static_cast<double>(info->quantization.scales[0]);
    const auto zero = info->is_quantized() ? static_cast<double>(info->quantization.zero_points[0]) : 0.0;
    DEPUTY_ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(DType::kFloat32, shape));
    const std::span<float> reals = made.mutable_values<float>();
    const auto convert = [&](auto values) {
      for (size_t i = 0; i < count; ++i) reals[i] = static_cast<float>((static_cast<double>(values[i]) - zero) * scale);
    };
    switch (constant.dtype()) {
      case DType::kInt8: convert(constant.values<int8_t>()); break;
      case DType::kUint8: convert(constant.values<uint8_t>()); break;
      case DType::kInt16: convert(constant.values<int16_t>()); break;
      case DType::kInt32: convert(constant.values<int32_t>()); break;
      default: return Error(StatusCode::kNotSupported, "weights of {} are not supported", NameOf(info->dtype));
    }
    return op_.emit.Constant(std::move(made));
  }

  // Weights of one kind, for these gates one after the other, below a first axis of one direction. A coupled input gate
  // is 1 - forget = sigmoid(-x): it has the negated weights of the forget gate. Omitted weights are zeros.
  Result<ValueId> Joined(std::span<const size_t> inputs, const Shape& shape) {
    std::vector<ValueId> parts;
    for (const size_t input : inputs) {
      const bool negated =
          coupled_ && (input == kInputWeights || input == kRecurrentWeights || input == kPeepholes || input == kBiases);
      const size_t read = negated ? input + kForget : input;
      ValueId& part = parts.emplace_back(kNone);
      if (op_.has_input(read)) {
        DEPUTY_ASSIGN_OR_RETURN(part, Weights(read, shape));
        if (negated) {
          DEPUTY_ASSIGN_OR_RETURN(part, op_.emit.Emit(OpKind::kNeg, {part}));
        }
        continue;
      }
      DEPUTY_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(DType::kFloat32, shape));
      if (zeros.byte_size() != 0) std::memset(zeros.mutable_data(), 0, zeros.byte_size());
      part = op_.emit.Constant(std::move(zeros));
    }
    DEPUTY_ASSIGN_OR_RETURN(const ValueId all,
                            op_.emit.Emit(OpKind::kConcat, std::move(parts), {{"axis", int64_t{0}}}));
    return Unsqueezed(all, 0);
  }

  Result<ValueId> Unsqueezed(ValueId id, int64_t axis) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op_.emit.Ints({&axis, 1}));
    return op_.emit.Emit(OpKind::kUnsqueeze, {id, axes});
  }
  Result<ValueId> Squeezed(ValueId id, int64_t axis) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op_.emit.Ints({&axis, 1}));
    return op_.emit.Emit(OpKind::kSqueeze, {id, axes});
  }
  Result<ValueId> TimeMajor(ValueId id) {
    if (options_->time_major()) return id;
    return op_.emit.Transposed(id, std::array<int64_t, 3>{1, 0, 2});
  }

  Result<ValueId> AsOnnxLstm() {
    const int64_t cells = extents_.cells;
    const auto gates_of = [](size_t first) {
      return std::array<size_t, 4>{first + kInput, first + kOutput, first + kForget, first + kCell};
    };
    constexpr std::array<size_t, 3> kPeepholeInputs{kPeepholes, kPeepholes + 2, kPeepholes + 1};
    // Of the eight biases that ONNX has per cell the last four are zeros.
    const std::array<size_t, 4> biases = gates_of(kBiases);
    std::array<size_t, 8> all_biases{};
    all_biases.fill(op_.input_count());
    std::copy(biases.begin(), biases.end(), all_biases.begin());
    DEPUTY_ASSIGN_OR_RETURN(const ValueId sequence, TimeMajor(input_));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId w, Joined(gates_of(kInputWeights), {cells, extents_.inputs}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId r, Joined(gates_of(kRecurrentWeights), {cells, cells}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId b, Joined(all_biases, {cells}));
    std::vector<ValueId> operands{sequence, w, r, b, kNone};
    for (const ValueId state : states_) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId initial, Unsqueezed(state, 0));
      operands.push_back(initial);
    }
    if (op_.has_input(kPeepholes + 1) || op_.has_input(kPeepholes + 2)) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId p, Joined(kPeepholeInputs, {cells}));
      operands.push_back(p);
    }
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<ValueId> made,
                            op_.emit.EmitMany(OpKind::kLSTM, std::move(operands), 3, {{"hidden_size", cells}}));
    for (size_t i = 0; i < 2; ++i) {
      DEPUTY_ASSIGN_OR_RETURN(states_[i], Squeezed(made[i + 1], 0));
    }
    DEPUTY_ASSIGN_OR_RETURN(const ValueId outputs, Squeezed(made[0], 1));
    return TimeMajor(outputs);
  }

  // A Scan whose body is one step. Quantized states are stored between the steps, as LiteRT rounds them.
  Result<ValueId> StepByStep() {
    Region region;
    region.name = "body";
    region.body = std::make_shared<Graph>();
    Graph& body = *region.body;
    std::array<ValueId, 2> before{}, after{};
    const std::vector<int64_t> dims = op_.emit.DimsOf(input_);
    const int64_t time_axis = options_->time_major() ? 0 : 1;
    {
      Scope scope(op_.scope, region);
      scope.emit.BeginOperator(op_.emit.operator_name() + "/step");
      for (size_t i = 0; i < 2; ++i) {
        before[i] = body.AddValue(i == 0 ? "output before" : "cell before",
                                  {state_infos_[i]->dtype, true, state_infos_[i]->dims});
        body.inputs.push_back(before[i]);
      }
      const int64_t batch = dims[static_cast<size_t>(1 - time_axis)];
      const DType dtype = in_integers_ ? input_info_->dtype : DType::kFloat32;
      const ValueId x = body.AddValue("input", {dtype, true, {batch, dims[2]}});
      body.inputs.push_back(x);
      if (in_integers_) {
        DEPUTY_ASSIGN_OR_RETURN(after, InIntegers().Step(scope.emit, x, before));
      } else {
        DEPUTY_ASSIGN_OR_RETURN(after, (Step{*this, scope, scope.emit}.Write(x, before)));
      }
      DEPUTY_ASSIGN_OR_RETURN(const ValueId out, scope.emit.Emit(OpKind::kIdentity, {after[0]}));
      body.outputs = {after[0], after[1], out};
    }
    std::vector<ValueType> types;
    for (const TensorInfo* state : state_infos_) types.push_back({state->dtype, true, state->dims});
    std::vector<int64_t> made_dims = dims;
    made_dims[2] = extents_.outputs;
    types.push_back({state_infos_[0]->dtype, true, made_dims});
    std::vector<Region> regions{std::move(region)};
    const std::vector<int64_t> axes{time_axis};
    const std::vector<ValueId> made =
        op_.emit.EmitRegions(OpKind::kScan, {states_[0], states_[1], input_}, std::move(regions), types,
                             {{"num_scan_inputs", int64_t{1}}, {"scan_input_axes", axes}, {"scan_output_axes", axes}});
    states_ = {made[0], made[1]};
    if (!quantized_) return made[2];
    DEPUTY_ASSIGN_OR_RETURN(const bool alike, op_.Alike(op_.input(kOutputState), op_.output()));
    made_is_stored_ = alike;
    if (alike) return made[2];
    return op_.tensors.Dequantized(made[2], state_infos_[0]->quantization, state_infos_[0]->dtype, 0);
  }

  // The nodes of one step.
  struct Step {
    Lstm& lstm;
    Scope& scope;
    Emitter& emit;

    Result<ValueId> Weights(size_t input, const Shape& shape, double scale = 0) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId outer, lstm.Weights(input, shape, scale));
      return scope.Capture(outer);
    }

    Result<ValueId> Clipped(ValueId id, float most) {
      if (most <= 0) return id;
      DEPUTY_ASSIGN_OR_RETURN(const ValueId low, emit.Number(-most, DType::kFloat32));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId high, emit.Number(most, DType::kFloat32));
      return emit.Emit(OpKind::kClip, {id, low, high});
    }

    Result<ValueId> Activated(ValueId id) {
      switch (lstm.options_->activation()) {
        case fb::Activation_NONE: return id;
        case fb::Activation_RELU: return emit.Emit(OpKind::kRelu, {id});
        case fb::Activation_TANH: return emit.Emit(OpKind::kTanh, {id});
        case fb::Activation_RELU6: {
          DEPUTY_ASSIGN_OR_RETURN(const ValueId low, emit.Number(0, DType::kFloat32));
          DEPUTY_ASSIGN_OR_RETURN(const ValueId high, emit.Number(6, DType::kFloat32));
          return emit.Emit(OpKind::kClip, {id, low, high});
        }
        default:
          return Error(StatusCode::kNotSupported, "has activation {}, which is not supported",
                       int{lstm.options_->activation()});
      }
    }

    // Normalized over the cells and then biased, if the layer has normalization.
    Result<ValueId> Normalized(ValueId id, size_t gate) {
      const Shape shape{lstm.extents_.cells};
      DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, Weights(kBiases + gate, shape, lstm.BiasScale(gate)));
      if (!lstm.normalizes_) return emit.Emit(OpKind::kAdd, {id, bias});
      DEPUTY_ASSIGN_OR_RETURN(const ValueId factor, Weights(kLayerNorm + gate, shape));
      return emit.Emit(OpKind::kLayerNormalization, {id, factor, bias},
                       {{"axis", int64_t{-1}}, {"epsilon", kLayerNormEpsilon}});
    }

    Result<ValueId> Product(ValueId id, size_t input, const Shape& shape) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId matrix, Weights(input, shape));
      return emit.Emit(OpKind::kGemm, {id, matrix}, {{"transB", int64_t{1}}});
    }

    Result<ValueId> GateOf(size_t gate, ValueId x, ValueId output, ValueId cell) {
      const Extents& extents = lstm.extents_;
      DEPUTY_ASSIGN_OR_RETURN(const ValueId first, Product(x, kInputWeights + gate, {extents.cells, extents.inputs}));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId second,
                              Product(output, kRecurrentWeights + gate, {extents.cells, extents.outputs}));
      DEPUTY_ASSIGN_OR_RETURN(ValueId sum, emit.Emit(OpKind::kAdd, {first, second}));
      constexpr size_t kPlace[kGates] = {0, 1, 0, 2};
      if (gate != kCell && lstm.op_.has_input(kPeepholes + kPlace[gate])) {
        DEPUTY_ASSIGN_OR_RETURN(const ValueId factor, Weights(kPeepholes + kPlace[gate], {extents.cells}));
        DEPUTY_ASSIGN_OR_RETURN(const ValueId peephole, emit.Emit(OpKind::kMul, {cell, factor}));
        DEPUTY_ASSIGN_OR_RETURN(sum, emit.Emit(OpKind::kAdd, {sum, peephole}));
      }
      DEPUTY_ASSIGN_OR_RETURN(sum, Normalized(sum, gate));
      return gate == kCell ? Activated(sum) : emit.Emit(OpKind::kSigmoid, {sum});
    }

    Result<ValueId> Projected(ValueId hidden) {
      if (!lstm.projects_) return hidden;
      const Extents& extents = lstm.extents_;
      double scale = 0;
      if (lstm.quantized_) {
        DEPUTY_ASSIGN_OR_RETURN(const Rounded rounded, Round(hidden, *lstm.hidden_info_));
        hidden = rounded.real;
        scale = static_cast<double>(lstm.hidden_info_->quantization.scales[0]) * lstm.ScaleOf(kProjectionWeights);
      }
      DEPUTY_ASSIGN_OR_RETURN(ValueId made, Product(hidden, kProjectionWeights, {extents.outputs, extents.cells}));
      if (lstm.op_.has_input(kProjectionBias)) {
        DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, Weights(kProjectionBias, {extents.outputs}, scale));
        DEPUTY_ASSIGN_OR_RETURN(made, emit.Emit(OpKind::kAdd, {made, bias}));
      }
      return Clipped(made, lstm.options_->proj_clip());
    }

    // A value rounded to a state's type: its stored form, and the real numbers of that form.
    struct Rounded {
      ValueId stored, real;
    };
    Result<Rounded> Round(ValueId id, const TensorInfo& info) {
      if (!lstm.quantized_) return Rounded{id, id};
      DEPUTY_ASSIGN_OR_RETURN(const ValueId stored, lstm.op_.tensors.Quantized(emit, id, info, 0));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId real,
                              lstm.op_.tensors.Dequantized(emit, stored, info.quantization, info.dtype, 0));
      return Rounded{stored, real};
    }

    // The states after the step, given those before it.
    Result<std::array<ValueId, 2>> Write(ValueId x, std::array<ValueId, 2> stored) {
      std::array<ValueId, 2> real = stored;
      for (size_t i = 0; lstm.quantized_ && i < 2; ++i) {
        const TensorInfo& info = *lstm.state_infos_[i];
        DEPUTY_ASSIGN_OR_RETURN(real[i],
                                lstm.op_.tensors.Dequantized(emit, stored[i], info.quantization, info.dtype, 0));
      }
      DEPUTY_ASSIGN_OR_RETURN(const ValueId forget, GateOf(kForget, x, real[0], real[1]));
      ValueId input = kNone;
      if (lstm.coupled_) {
        DEPUTY_ASSIGN_OR_RETURN(const ValueId one, emit.Number(1, DType::kFloat32));
        DEPUTY_ASSIGN_OR_RETURN(input, emit.Emit(OpKind::kSub, {one, forget}));
      } else {
        DEPUTY_ASSIGN_OR_RETURN(input, GateOf(kInput, x, real[0], real[1]));
      }
      DEPUTY_ASSIGN_OR_RETURN(const ValueId candidate, GateOf(kCell, x, real[0], real[1]));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId retained_cell, emit.Emit(OpKind::kMul, {forget, real[1]}));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId cell_update, emit.Emit(OpKind::kMul, {input, candidate}));
      DEPUTY_ASSIGN_OR_RETURN(ValueId sum, emit.Emit(OpKind::kAdd, {retained_cell, cell_update}));
      DEPUTY_ASSIGN_OR_RETURN(sum, Clipped(sum, lstm.options_->cell_clip()));
      DEPUTY_ASSIGN_OR_RETURN(const Rounded cell, Round(sum, *lstm.state_infos_[1]));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId gate, GateOf(kOutput, x, real[0], cell.real));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId activated_cell, Activated(cell.real));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId hidden, emit.Emit(OpKind::kMul, {gate, activated_cell}));
      DEPUTY_ASSIGN_OR_RETURN(const ValueId projected, Projected(hidden));
      DEPUTY_ASSIGN_OR_RETURN(const Rounded output, Round(projected, *lstm.state_infos_[0]));
      return std::array<ValueId, 2>{output.stored, cell.stored};
    }
  };

  const Operation& op_;
  const fb::SequenceLstmOptions* options_ = nullptr;
  bool coupled_ = false, projects_ = false, normalizes_ = false, quantized_ = false, made_is_stored_ = false;
  bool in_integers_ = false;
  Extents extents_;
  double input_scale_ = 0;
  const TensorInfo* input_info_ = nullptr;
  const TensorInfo* hidden_info_ = nullptr;  // the output of a quantized layer before the projection
  std::array<VariableId, 2> state_variables_{};
  std::array<const TensorInfo*, 2> state_infos_{};
  ValueId input_ = kNone;
  std::array<ValueId, 2> states_{kNone, kNone};  // of outputs and of cells
};

}  // namespace

Status UnidirectionalSequenceLstm(const Operation& op) { return Lstm(op).Import(); }

}  // namespace deputy::host::tflite_import
