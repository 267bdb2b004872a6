#include "import/tflite/ops/integer_lstm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "import/tflite/ops/fixed_point.hpp"
#include "import/tflite/ops/lstm_inputs.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr float kGateScale = 0x1p-12f;  // of the sums of a gate
constexpr int kGateBits = 3;            // of those before the point
constexpr double kLeast16 = -32768, kMost16 = 32767;

int LogOfScale(const TensorInfo& info) {
  return static_cast<int>(std::lround(std::log2(static_cast<double>(info.quantization.scales[0]))));
}

bool IsPerTensor(const TensorInfo& info, DType dtype) {
  return info.dtype == dtype && info.is_quantized() && !info.quantization.per_axis();
}

}  // namespace

// Emits the nodes of one step. Numbers between the products are float64, which holds them all.
class IntegerLstm::Writer {
 public:
  Writer(const IntegerLstm& lstm, Emitter& emit) : lstm_(lstm), op_(lstm.op), emit_(emit) {}

  Result<std::array<ValueId, 2>> Write(ValueId x, const std::array<ValueId, 2>& before) {
    const int cell_log = LogOfScale(*lstm_.states[1]);
    x_ = x;
    output_ = before[0];
    DEPUTY_ASSIGN_OR_RETURN(cell_, Double(before[1]));
    DEPUTY_ASSIGN_OR_RETURN(logistic_, Table(LogisticTable(kGateBits)));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId tanh_of_gate, Table(TanhTable(kGateBits)));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId tanh_of_cell, Table(TanhTable(15 + cell_log)));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId forget, GateOf(kForget, logistic_));
    ValueId update = kNone;
    if (lstm_.coupled) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId one, Number(kMost16));
      DEPUTY_ASSIGN_OR_RETURN(update, emit_.Emit(OpKind::kSub, {one, forget}));
    } else {
      DEPUTY_ASSIGN_OR_RETURN(update, GateOf(kInput, logistic_));
    }
    DEPUTY_ASSIGN_OR_RETURN(const ValueId candidate, GateOf(kCell, tanh_of_gate));
    DEPUTY_ASSIGN_OR_RETURN(ValueId kept, emit_.Emit(OpKind::kMul, {forget, cell_}));
    DEPUTY_ASSIGN_OR_RETURN(kept, ShiftedRight(kept, 15));
    DEPUTY_ASSIGN_OR_RETURN(ValueId added, emit_.Emit(OpKind::kMul, {update, candidate}));
    DEPUTY_ASSIGN_OR_RETURN(added, ShiftedRight(added, 30 + cell_log));
    DEPUTY_ASSIGN_OR_RETURN(ValueId cell, Sum(kept, added));
    DEPUTY_ASSIGN_OR_RETURN(cell, Clipped(cell, lstm_.cell_clip, *lstm_.states[1], kMost16));
    cell_ = cell;  // the peephole of the output gate sees the new one
    DEPUTY_ASSIGN_OR_RETURN(const ValueId gate, GateOf(kOutput, logistic_));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId activated, LookUp(tanh_of_cell, cell));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId product, emit_.Emit(OpKind::kMul, {gate, activated}));
    const Quantization& quantization = lstm_.hidden->quantization;
    DEPUTY_ASSIGN_OR_RETURN(ValueId made, Scaled(product, 0x1p-30f / quantization.scales[0]));
    DEPUTY_ASSIGN_OR_RETURN(made, Stored8(made, quantization));
    if (lstm_.projects) {
      DEPUTY_ASSIGN_OR_RETURN(made, Projected(made));
    }
    DEPUTY_ASSIGN_OR_RETURN(const ValueId stored,
                            emit_.Emit(OpKind::kCast, {cell}, {{"to", static_cast<int64_t>(DType::kInt16)}}));
    return std::array<ValueId, 2>{made, stored};
  }

 private:
  Result<ValueId> Number(double value) { return emit_.Number(value, DType::kFloat64); }
  Result<ValueId> Double(ValueId id) { return emit_.Cast(id, DType::kFloat64); }
  Result<ValueId> Table(Result<Tensor> table) {
    if (!table.ok()) return std::move(table).status();
    DEPUTY_RETURN_IF_ERROR(op_.subgraphs.file.SpendCopy(table->byte_size()));
    return emit_.Constant(std::move(table).value());
  }
  Result<ValueId> With(OpKind kind, ValueId id, double value) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId number, Number(value));
    return emit_.Emit(kind, {id, number});
  }

  Result<ValueId> Clip(ValueId id, double low, double high) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId least, Number(low));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId most, Number(high));
    return emit_.Emit(OpKind::kClip, {id, least, most});
  }
  // In the steps of `info`; 0 clips nothing.
  Result<ValueId> Clipped(ValueId id, float clip, const TensorInfo& info, double most) {
    if (clip <= 0) return id;
    const double steps = std::min(std::trunc(static_cast<double>(clip / info.quantization.scales[0])), most);
    return Clip(id, -steps, steps);
  }
  Result<ValueId> Sum(ValueId a, ValueId b) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId sum, emit_.Emit(OpKind::kAdd, {a, b}));
    return Clip(sum, kLeast16, kMost16);
  }

  // value / 2^bits to nearest, halves away from zero: what is added to the factor decides halves and nothing else.
  Result<ValueId> ShiftedRight(ValueId id, int bits) {
    DEPUTY_ASSIGN_OR_RETURN(id, With(OpKind::kMul, id, std::ldexp(1 + 0x1p-40, -bits)));
    DEPUTY_ASSIGN_OR_RETURN(id, With(OpKind::kAdd, id, 0.5));
    return emit_.Emit(OpKind::kFloor, {id});
  }
  // An integer times a factor. LiteRT rounds twice: first to a multiple of its power of two.
  Result<ValueId> Scaled(ValueId id, float by) {
    const FixedFactor factor = FixedFactor::Of(static_cast<double>(by));
    const double first = std::ldexp(static_cast<double>(factor.multiplier), std::max(factor.exponent, 0) - 31);
    DEPUTY_ASSIGN_OR_RETURN(id, With(OpKind::kMul, id, first));
    DEPUTY_ASSIGN_OR_RETURN(id, With(OpKind::kAdd, id, 0.5));
    DEPUTY_ASSIGN_OR_RETURN(id, emit_.Emit(OpKind::kFloor, {id}));
    return factor.exponent < 0 ? ShiftedRight(id, -factor.exponent) : Result<ValueId>(id);
  }

  Result<ValueId> LookUp(ValueId table, ValueId id) {
    DEPUTY_ASSIGN_OR_RETURN(ValueId index, With(OpKind::kAdd, id, -kLeast16));
    DEPUTY_ASSIGN_OR_RETURN(index, emit_.Cast(index, DType::kInt32));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId found, emit_.Emit(OpKind::kGather, {table, index}));
    return Double(found);
  }

  // Numbers of 8 bits with the zero point of `quantization`.
  Result<ValueId> Stored8(ValueId id, const Quantization& quantization) {
    DEPUTY_ASSIGN_OR_RETURN(id, With(OpKind::kAdd, id, static_cast<double>(quantization.zero_points[0])));
    DEPUTY_ASSIGN_OR_RETURN(id, Clip(id, -128, 127));
    return emit_.Cast(id, DType::kInt8);
  }

  Result<ValueId> ZeroPoint(const TensorInfo& info) {
    const auto value = static_cast<int8_t>(info.quantization.zero_points[0]);
    DEPUTY_ASSIGN_OR_RETURN(Tensor zero, Tensor::FromValues<int8_t>(DType::kInt8, {}, std::span(&value, 1)));
    return emit_.Constant(std::move(zero));
  }

  // The product with the constant weights of input `index` as int32, with the bias if the layer has one.
  Result<ValueId> Product(ValueId id, const TensorInfo& info, size_t index, std::optional<size_t> bias) {
    DEPUTY_ASSIGN_OR_RETURN(const Tensor weights, op_.tensors.Constant(op_.input(index)));
    if (weights.shape().size() != 2) return Error(StatusCode::kModel, "weights must have rank 2");
    DEPUTY_RETURN_IF_ERROR(op_.subgraphs.file.SpendCopy(weights.byte_size()));
    DEPUTY_ASSIGN_OR_RETURN(Tensor turned, Permuted(weights, std::array<int64_t, 2>{1, 0}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId zero, ZeroPoint(info));
    DEPUTY_ASSIGN_OR_RETURN(ValueId sum,
                            emit_.Emit(OpKind::kMatMulInteger, {id, emit_.Constant(std::move(turned)), zero}));
    if (bias && op_.has_input(*bias)) {
      DEPUTY_ASSIGN_OR_RETURN(Tensor values, op_.tensors.Constant(op_.input(*bias)));
      if (values.shape() != Shape{weights.shape()[0]})
        return Error(StatusCode::kModel, "the shape of input {} does not match the weights", *bias);
      DEPUTY_ASSIGN_OR_RETURN(sum, emit_.Emit(OpKind::kAdd, {sum, emit_.Constant(std::move(values))}));
    }
    return Double(sum);
  }

  Result<float> ScaleOf(size_t index) const {
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op_.tensors.Info(op_.input(index)));
    return info->quantization.scales[0];
  }

  // Each part is rounded and saturated before the next one is added.
  Result<ValueId> GateOf(size_t gate, ValueId table) {
    DEPUTY_ASSIGN_OR_RETURN(const float input_scale, ScaleOf(kInputWeights + gate));
    DEPUTY_ASSIGN_OR_RETURN(ValueId sum, Product(x_, *lstm_.input, kInputWeights + gate, kBiases + gate));
    DEPUTY_ASSIGN_OR_RETURN(sum, Scaled(sum, input_scale * lstm_.input->quantization.scales[0] / kGateScale));
    DEPUTY_ASSIGN_OR_RETURN(sum, Clip(sum, kLeast16, kMost16));
    DEPUTY_ASSIGN_OR_RETURN(const float recurrent_scale, ScaleOf(kRecurrentWeights + gate));
    DEPUTY_ASSIGN_OR_RETURN(ValueId more, Product(output_, *lstm_.states[0], kRecurrentWeights + gate, std::nullopt));
    DEPUTY_ASSIGN_OR_RETURN(more, Scaled(more, recurrent_scale * lstm_.states[0]->quantization.scales[0] / kGateScale));
    DEPUTY_ASSIGN_OR_RETURN(sum, Sum(sum, more));
    constexpr size_t kPlace[kGates] = {0, 1, 0, 2};
    const size_t peephole = kPeepholes + kPlace[gate];
    if (gate != kCell && op_.has_input(peephole)) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId wide, PeepholeFactors(peephole));
      DEPUTY_ASSIGN_OR_RETURN(const float scale, ScaleOf(peephole));
      DEPUTY_ASSIGN_OR_RETURN(ValueId seen, emit_.Emit(OpKind::kMul, {cell_, wide}));
      const float cell_scale = std::ldexp(1.0f, LogOfScale(*lstm_.states[1]));
      DEPUTY_ASSIGN_OR_RETURN(seen, Scaled(seen, cell_scale * scale / kGateScale));
      DEPUTY_ASSIGN_OR_RETURN(sum, Sum(sum, seen));
    }
    return LookUp(table, sum);
  }

  // A factor for each cell. Where there are fewer outputs than cells, LiteRT takes as many factors and cells as there
  // are outputs, without regard to the rows, and leaves the other cells out.
  Result<ValueId> PeepholeFactors(size_t index) {
    DEPUTY_ASSIGN_OR_RETURN(const Tensor factors, op_.tensors.Constant(op_.input(index)));
    const std::vector<int64_t>&cells = lstm_.states[1]->dims, &outputs = lstm_.states[0]->dims;
    if (factors.element_count() != cells[1])
      return Error(StatusCode::kModel, "input {} has {} elements, expected {}, one for each cell", index,
                   factors.element_count(), cells[1]);
    DEPUTY_RETURN_IF_ERROR(op_.subgraphs.file.SpendCopy(static_cast<size_t>(cells[0] * cells[1]) * sizeof(double)));
    DEPUTY_ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(DType::kFloat64, cells));
    const int64_t step = std::min(outputs[1], cells[1]);
    for (int64_t i = 0; i < cells[0] * step; ++i)
      made.mutable_values<double>()[static_cast<size_t>(i)] = factors.values<int16_t>()[static_cast<size_t>(i % step)];
    return emit_.Constant(std::move(made));
  }

  Result<ValueId> Projected(ValueId id) {
    DEPUTY_ASSIGN_OR_RETURN(const float scale, ScaleOf(kProjectionWeights));
    DEPUTY_ASSIGN_OR_RETURN(ValueId made, Product(id, *lstm_.hidden, kProjectionWeights, kProjectionBias));
    const Quantization& quantization = lstm_.states[0]->quantization;
    DEPUTY_ASSIGN_OR_RETURN(made, Scaled(made, scale * lstm_.hidden->quantization.scales[0] / quantization.scales[0]));
    DEPUTY_ASSIGN_OR_RETURN(made, Stored8(made, quantization));
    if (lstm_.projection_clip <= 0) return made;
    DEPUTY_ASSIGN_OR_RETURN(made, Double(made));
    DEPUTY_ASSIGN_OR_RETURN(made, Clipped(made, lstm_.projection_clip, *lstm_.states[0], 127));
    return emit_.Cast(made, DType::kInt8);
  }

  const IntegerLstm& lstm_;
  const Operation& op_;
  Emitter& emit_;
  ValueId x_ = kNone, output_ = kNone, cell_ = kNone, logistic_ = kNone;
};

Result<bool> IntegerLstm::Fits() const {
  if (!IsPerTensor(*input, DType::kInt8) || !IsPerTensor(*states[0], DType::kInt8) ||
      !IsPerTensor(*states[1], DType::kInt16) || hidden == nullptr || !IsPerTensor(*hidden, DType::kInt8))
    return false;
  const int cell_bits = 15 + LogOfScale(*states[1]);
  const auto exact = static_cast<float>(std::ldexp(1.0, cell_bits - 15));
  if (cell_bits < 0 || cell_bits > 6 || exact != states[1]->quantization.scales[0] ||
      states[1]->quantization.zero_points[0] != 0)
    return false;
  for (size_t i = kInputWeights; i <= kProjectionBias; ++i) {
    if (!op.has_input(i)) continue;
    const bool is_bias = (i >= kBiases && i < kBiases + kGates) || i == kProjectionBias;
    const bool is_peephole = i >= kPeepholes && i < kBiases;
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(i)));
    DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, op.tensors.Constant(op.input(i)));
    const DType wanted = is_bias ? DType::kInt32 : is_peephole ? DType::kInt16 : DType::kInt8;
    if (constant.empty() || info->dtype != wanted || info->packed) return false;
    if (is_bias) continue;
    if (!IsPerTensor(*info, wanted) || info->quantization.zero_points[0] != 0) return false;
  }
  return true;
}

Result<std::array<ValueId, 2>> IntegerLstm::Step(Emitter& emit, ValueId x, const std::array<ValueId, 2>& before) const {
  return Writer(*this, emit).Write(x, before);
}

}  // namespace deputy::host::tflite_import
