#include "import/tflite/operation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace deputy::host::tflite_import {
namespace {

struct NumberRange {
  double low, high, half_step;
};

// The real numbers that a quantized tensor can hold.
NumberRange RangeOf(const TensorInfo& info) {
  const double low = info.dtype == DType::kUint8 ? 0 : info.dtype == DType::kInt8 ? -128 : -32768;
  const double high = info.dtype == DType::kUint8 ? 255 : info.dtype == DType::kInt8 ? 127 : 32767;
  const double scale = info.quantization.scales[0];
  const auto zero = static_cast<double>(info.quantization.zero_points[0]);
  return {(low - zero) * scale, (high - zero) * scale, scale * 0.49};
}

// Activations of 16 bits have a bias of 64 bits, which DequantizeLinear does not take.
Result<ValueId> Summed(const Operation& op, const Tensor& bias, const std::vector<float>& scales) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(DType::kFloat32, bias.shape()));
  const std::span<float> reals = made.mutable_values<float>();
  for (size_t i = 0; i < reals.size(); ++i)
    reals[i] = static_cast<float>(static_cast<double>(bias.values<int64_t>()[i]) * scales[scales.size() == 1 ? 0 : i]);
  return op.emit.Constant(std::move(made));
}

}  // namespace

Result<TensorIndex> Operation::Intermediate(size_t i) const {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> list, file_.Ints(table_.intermediates()));
  if (i < list.size()) return static_cast<TensorIndex>(list[i]);
  return Error(StatusCode::kModel, "has {} intermediate tensors, expected at least {}", list.size(), i + 1);
}

Result<size_t> Operation::Axis(int64_t axis, size_t rank) const {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count)
    return Error(StatusCode::kModel, "axis {} is out of range for rank {}", axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

Result<bool> Operation::Alike(TensorIndex a, TensorIndex b) const {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* first, tensors.Info(a));
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* second, tensors.Info(b));
  if (!first->is_quantized() && !second->is_quantized()) return true;
  return first->dtype == second->dtype && !first->quantization.per_axis() &&
         first->quantization == second->quantization;
}

Result<Layout> Operation::CommonLayout(std::span<const TensorIndex> operands) const {
  bool lacks_file = false, all_second = true;
  size_t wide = 0;
  for (const TensorIndex operand : operands) {
    DEPUTY_ASSIGN_OR_RETURN(const std::optional<size_t> rank, tensors.KnownRank(operand));
    if (!rank || *rank > 4) return Layout::kFile;
    if (*rank != 4) continue;
    DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, tensors.Constant(operand));
    if (!constant.empty()) continue;
    ++wide;
    DEPUTY_ASSIGN_OR_RETURN(const bool file, tensors.Has(operand, Layout::kFile));
    DEPUTY_ASSIGN_OR_RETURN(const bool second, tensors.Has(operand, Layout::kChannelsSecond));
    lacks_file = lacks_file || !file;
    all_second = all_second && second;
  }
  return wide != 0 && (lacks_file || all_second) ? Layout::kChannelsSecond : Layout::kFile;
}

Result<ValueId> Operation::Operand(size_t i, bool stored, Layout layout) const {
  return stored ? tensors.Stored(inputs_[i], layout) : tensors.Real(inputs_[i], layout);
}

Status Operation::Set(ValueId id, bool stored, Layout layout, size_t i) const {
  return stored ? tensors.SetStored(outputs_[i], id, layout) : tensors.SetReal(outputs_[i], id, layout);
}

Result<ValueId> Operation::Activated(ValueId id, fb::Activation activation) const {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, tensors.Info(outputs_[0]));
  const bool ranged = info->is_quantized() && !info->quantization.per_axis();
  const NumberRange range = ranged ? RangeOf(*info) : NumberRange{-HUGE_VAL, HUGE_VAL, 0};
  const auto clip = [&](float low, float high) -> Result<ValueId> {
    if (range.low >= low - range.half_step && range.high <= high + range.half_step) return id;
    const DType dtype = emit.TypeOf(id).dtype;
    DEPUTY_ASSIGN_OR_RETURN(const ValueId least, emit.Number(low, dtype));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId most, emit.Number(high, dtype));
    return emit.Emit(OpKind::kClip, {id, least, most});
  };
  switch (activation) {
    case fb::Activation_NONE: return id;
    case fb::Activation_RELU:
      if (range.low >= -range.half_step) return id;
      return emit.Emit(OpKind::kRelu, {id});
    case fb::Activation_RELU_N1_TO_1: return clip(-1, 1);
    case fb::Activation_RELU6: return clip(0, 6);
    case fb::Activation_TANH: return emit.Emit(OpKind::kTanh, {id});
    default: break;
  }
  const char* name = fb::EnumNameActivation(activation);
  if (*name == '\0') return Error(StatusCode::kModel, "has the invalid activation {}", int{activation});
  return Error(StatusCode::kNotSupported, "has the activation {}, which is not supported", name);
}

Status Operation::ElementwiseWhereAlike(const Make& make) const {
  bool stored = true;
  for (const TensorIndex input : inputs_) {
    DEPUTY_ASSIGN_OR_RETURN(const bool alike, Alike(input, outputs_[0]));
    stored = stored && alike;
  }
  return Elementwise(stored, make);
}

Result<Layout> Operation::LayoutWithout(TensorIndex operand, std::span<const size_t> removed) const {
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, CommonLayout({&operand, 1}));
  if (layout == Layout::kFile) return layout;
  int64_t before = -1;
  for (const int64_t axis : kToChannelsSecond) {
    if (std::find(removed.begin(), removed.end(), static_cast<size_t>(axis)) != removed.end()) continue;
    if (axis < before) return Layout::kFile;
    before = axis;
  }
  return layout;
}

Status Operation::Elementwise(bool stored, const Make& make) const {
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, CommonLayout(inputs_));
  std::vector<ValueId> operands;
  for (const TensorIndex input : inputs_) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, tensors.Broadcast(input, stored, layout));
    operands.push_back(id);
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, make(operands));
  return Set(made, stored, layout);
}

int64_t AxisIn(Layout layout, size_t axis) {
  constexpr int64_t kPlace[] = {0, 2, 3, 1};
  return layout == Layout::kFile ? static_cast<int64_t>(axis) : kPlace[axis];
}

std::vector<int64_t> AxesIn(Layout layout, std::span<const size_t> axes) {
  std::vector<int64_t> places;
  for (const size_t axis : axes) places.push_back(AxisIn(layout, axis));
  return places;
}

Result<ValueId> ImportBias(const Operation& op, BiasPlaces places, int64_t channels) {
  if (!op.has_input(places.bias)) return kNone;
  const TensorIndex tensor = op.input(places.bias);
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(tensor));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, op.tensors.Stored(tensor));
  const std::vector<int64_t> dims = op.emit.DimsOf(bias);
  int64_t count = dims.empty() ? 1 : dims.back();
  for (size_t i = 0; i + 1 < dims.size(); ++i) count = dims[i] == 1 ? count : -1;
  if (count != channels) return Error(StatusCode::kModel, "the shape of the bias does not match {} channels", channels);
  ValueId flat = bias;
  if (dims.size() != 1) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Ints({&channels, 1}));
    DEPUTY_ASSIGN_OR_RETURN(flat, op.emit.Emit(OpKind::kReshape, {bias, shape}));
  }
  if (info->dtype != DType::kInt32 && info->dtype != DType::kInt64) return flat;
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* input, op.tensors.Info(op.input(places.input)));
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* weights, op.tensors.Info(op.input(places.weights)));
  if (!input->is_quantized() || !weights->is_quantized() || input->quantization.per_axis())
    return Error(StatusCode::kModel,
                 "an integer bias requires an input that is quantized per tensor and quantized weights");
  Quantization quantization;
  for (const float scale : weights->quantization.scales)
    quantization.scales.push_back(scale * input->quantization.scales[0]);
  if (quantization.per_axis() && static_cast<int64_t>(quantization.scales.size()) != channels)
    return Error(StatusCode::kModel, "the weights have {} scales for {} channels", quantization.scales.size(),
                 channels);
  quantization.zero_points.assign(quantization.scales.size(), 0);
  if (info->dtype == DType::kInt32) return op.tensors.Dequantized(flat, quantization, DType::kInt32, 0);
  DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, op.tensors.Constant(tensor));
  if (constant.empty()) return Error(StatusCode::kNotSupported, "an int64 bias must be a constant");
  return Summed(op, constant, quantization.scales);
}

}  // namespace deputy::host::tflite_import
