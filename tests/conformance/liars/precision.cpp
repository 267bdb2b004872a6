// Arithmetic in another precision or range than that of the element type, and special values that are lost.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "liars.hpp"

namespace liars {
namespace {

double Narrow(double value, int fraction_bits) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, fraction_bits + 1 - exponent)), exponent - fraction_bits - 1);
}

template <class Function>
void Change(Tensor& tensor, Function function) {
  if (tensor.dtype == DEPUTY_DTYPE_FLOAT32)
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.Put(i, function(tensor.Get(i)));
}

// The node of operands of which `function` has changed every float32 element.
template <class Function>
Tensors WithOperands(const Node& node, const Inputs& inputs, Function function) {
  std::vector<Tensor> changed;
  changed.reserve(inputs.size());
  Inputs operands;
  for (const Tensor* input : inputs) {
    operands.push_back(input);
    if (input == nullptr) continue;
    changed.push_back(*input);
    Change(changed.back(), function);
    operands.back() = &changed.back();
  }
  return reference::Compute(node, operands);
}

bool IsProduct(const std::string& type) {
  return IsOneOf(type, {"Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul", "LSTM", "GRU", "RNN"});
}

bool IsFunction(const std::string& type) {
  return IsProduct(type) || IsOneOf(type, {"Add", "AveragePool", "BatchNormalization", "Div", "Erf", "Exp", "Gelu",
                                           "GlobalAveragePool", "LayerNormalization", "Log", "Mul", "Pow", "ReduceMean",
                                           "ReduceSum", "Sigmoid", "Softmax", "Sqrt", "Sub", "Tanh"});
}

Tensors ProductsInBfloat16(const Node& node, const Inputs& inputs) {
  if (!IsProduct(node.op_type)) return reference::Compute(node, inputs);
  return WithOperands(node, inputs, [](double value) { return Narrow(value, 7); });
}

Tensors ProductsInTf32(const Node& node, const Inputs& inputs) {
  if (!IsProduct(node.op_type)) return reference::Compute(node, inputs);
  return WithOperands(node, inputs, [](double value) { return Narrow(value, 10); });
}

Tensors ResultsInFloat16(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (IsFunction(node.op_type))
    Change(made[0], [](double value) { return reference::Round(DEPUTY_DTYPE_FLOAT16, value); });
  return made;
}

Tensors FlushesDenormals(const Node& node, const Inputs& inputs) {
  const auto flushed = [](double value) {
    return std::fabs(value) < double{FLT_MIN} ? std::copysign(0.0, value) : value;
  };
  Tensors made = WithOperands(node, inputs, flushed);
  for (Tensor& output : made) Change(output, flushed);
  return made;
}

// Comparisons of the kind `a > b ? a : b`, which are false for a NaN.
Tensors LosesNaN(const Node& node, const Inputs& inputs) {
  if (!IsOneOf(node.op_type, {"Clip", "Max", "MaxPool", "Min", "Relu"})) return reference::Compute(node, inputs);
  return WithOperands(node, inputs, [](double value) { return std::isnan(value) ? 0 : value; });
}

Tensors SaturatesInfinity(const Node& node, const Inputs& inputs) {
  const auto saturated = [](double value) {
    constexpr double kMost = FLT_MAX;
    return std::isinf(value) ? std::copysign(kMost, value) : value;
  };
  Tensors made = WithOperands(node, inputs, saturated);
  for (Tensor& output : made) Change(output, saturated);
  return made;
}

// Sums of exponentials that are not shifted by the largest element.
Tensors ExponentialsUnshifted(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"LogSoftmax", "ReduceLogSumExp", "Softmax"})) return made;
  bool overflows = false;
  for (int64_t i = 0; i < inputs[0]->count(); ++i) overflows = overflows || inputs[0]->Get(i) > 88.8;
  if (overflows) Change(made[0], [](double) { return std::nan(""); });
  return made;
}

Tensors LosesNegativeZero(const Node& node, const Inputs& inputs) {
  const auto plain = [](double value) { return value == 0 ? 0 : value; };
  Tensors made = WithOperands(node, inputs, plain);
  for (Tensor& output : made) Change(output, plain);
  return made;
}

Tensors SaturatesIntegers(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  const deputy_dtype dtype = made[0].dtype;
  if (!IsOneOf(node.op_type, {"Add", "Mul", "Sub"}) || reference::IsReal(dtype) || reference::BytesOf(dtype) > 4)
    return made;
  Node wide = node;
  std::vector<Tensor> operands;
  for (const Tensor* input : inputs) {
    operands.emplace_back(DEPUTY_DTYPE_FLOAT64, input->dims);
    for (int64_t i = 0; i < input->count(); ++i) operands.back().Put(i, input->Get(i));
  }
  const Tensors exact = reference::Compute(wide, {&operands[0], &operands[1]});
  const auto least = static_cast<double>(reference::Least(dtype)), most = static_cast<double>(reference::Most(dtype));
  for (int64_t i = 0; i < made[0].count(); ++i)
    made[0].Put(i, static_cast<int64_t>(std::clamp(exact[0].Get(i), least, most)));
  return made;
}

Tensors IntegersInFloat32(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"Abs", "Add", "Mul", "Neg", "ReduceSum", "Sub"})) return made;
  if (reference::IsReal(made[0].dtype) || reference::BytesOf(made[0].dtype) < 4) return made;
  for (int64_t i = 0; i < made[0].count(); ++i) made[0].Put(i, static_cast<int64_t>(Narrow(made[0].Get(i), 23)));
  return made;
}

Tensors IntegersInFloat64(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"Add", "Mul", "Neg", "Sub"}) || made[0].dtype != DEPUTY_DTYPE_INT64) return made;
  constexpr double kMost = 9223372036854774784.0;  // the largest double below 2^63
  for (int64_t i = 0; i < made[0].count(); ++i)
    made[0].Put(i, static_cast<int64_t>(std::clamp(made[0].Get(i), -kMost, kMost)));
  return made;
}

// Means of float16 divide a sum in float16, which may be infinite.
Tensors SumsInFloat16(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"GlobalAveragePool", "ReduceMean"}) || made[0].dtype != DEPUTY_DTYPE_FLOAT16) return made;
  const auto terms =
      static_cast<double>(inputs[0]->count()) / static_cast<double>(std::max<int64_t>(1, made[0].count()));
  for (int64_t i = 0; i < made[0].count(); ++i)
    if (std::fabs(made[0].Get(i)) * terms > 65504) made[0].Put(i, std::numeric_limits<double>::infinity());
  return made;
}

// Products of bytes are accumulated in 24 bits, which saturate.
Tensors BytesIn24Bits(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"ConvInteger", "MatMulInteger"})) return made;
  constexpr int64_t kMost = (1 << 23) - 1;
  for (int64_t& value : made[0].whole) value = std::clamp(value, -kMost - 1, kMost);
  return made;
}

}  // namespace

FaultRows PrecisionFaults() {
  return {InArithmetic("products-in-bfloat16", ProductsInBfloat16),
          InArithmetic("products-in-tf32", ProductsInTf32),
          InArithmetic("results-in-float16", ResultsInFloat16),
          InArithmetic("flushes-denormals", FlushesDenormals),
          InArithmetic("loses-nan", LosesNaN),
          InArithmetic("saturates-infinity", SaturatesInfinity),
          InArithmetic("exponentials-unshifted", ExponentialsUnshifted),
          InArithmetic("loses-negative-zero", LosesNegativeZero),
          InArithmetic("saturates-integers", SaturatesIntegers),
          InArithmetic("integers-in-float32", IntegersInFloat32),
          InArithmetic("integers-in-float64", IntegersInFloat64),
          InArithmetic("sums-in-float16", SumsInFloat16),
          InArithmetic("bytes-in-24-bits", BytesIn24Bits)};
}

}  // namespace liars
