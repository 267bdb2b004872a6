#include "import/tflite/bias.hpp"

#include <utility>
#include <vector>

namespace deputy::host::tflite_import {
namespace {

// Activations of 16 bits have a bias of 64 bits, which DequantizeLinear does not take.
Result<ValueId> Summed(const Operation& op, const Tensor& bias, const std::vector<float>& scales) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(DType::kFloat32, bias.shape()));
  const std::span<float> reals = made.mutable_values<float>();
  for (size_t i = 0; i < reals.size(); ++i)
    reals[i] = static_cast<float>(static_cast<double>(bias.values<int64_t>()[i]) * scales[scales.size() == 1 ? 0 : i]);
  return op.emit.Constant(std::move(made));
}

}  // namespace

Result<ValueId> ImportBias(const Operation& op, BiasPlaces places, int64_t channels) {
  if (!op.has_input(places.bias)) return kNone;
  const TensorIndex tensor = op.input(places.bias);
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(tensor));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId bias, op.tensors.Stored(tensor));
  const std::vector<int64_t> dims = op.emit.DimsOf(bias);
  int64_t count = dims.empty() ? 1 : dims.back();
  for (size_t i = 0; i + 1 < dims.size(); ++i) count = dims[i] == 1 ? count : -1;
  if (count != channels) return Error(StatusCode::kModel, "has a bias that does not fit its {} channels", channels);
  ValueId flat = bias;
  if (dims.size() != 1) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Ints({&channels, 1}));
    DEPUTY_ASSIGN_OR_RETURN(flat, op.emit.Emit(OpKind::kReshape, {bias, shape}));
  }
  if (info->dtype != DType::kInt32 && info->dtype != DType::kInt64) return flat;
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* input, op.tensors.Info(op.input(places.input)));
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* weights, op.tensors.Info(op.input(places.weights)));
  if (!input->is_quantized() || !weights->is_quantized() || input->quantization.per_axis())
    return Error(StatusCode::kModel, "has a bias of integers, but an input or weights that are not quantized");
  Quantization quantization;
  for (const float scale : weights->quantization.scales)
    quantization.scales.push_back(scale * input->quantization.scales[0]);
  if (quantization.per_axis() && static_cast<int64_t>(quantization.scales.size()) != channels)
    return Error(StatusCode::kModel, "has {} scales for {} channels", quantization.scales.size(), channels);
  quantization.zero_points.assign(quantization.scales.size(), 0);
  if (info->dtype == DType::kInt32) return op.tensors.Dequantized(flat, quantization, DType::kInt32, 0);
  DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, op.tensors.Constant(tensor));
  if (constant.empty()) return Error(StatusCode::kNotSupported, "has a bias of int64 that is computed");
  return Summed(op, constant, quantization.scales);
}

}  // namespace deputy::host::tflite_import
