#include "tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

namespace deputy::conformance {
namespace {

// Half the distance from 1 to the next number.
double UnitOf(deputy_dtype dtype) {
  switch (dtype) {
    case kF64: return std::ldexp(1.0, -53);
    case kF16: return std::ldexp(1.0, -11);
    case kBF16: return std::ldexp(1.0, -8);
    default: return std::ldexp(1.0, -24);
  }
}

bool IsOneOf(const std::string& type, const std::set<std::string>& types) { return types.count(type) != 0; }

// The number of summed terms of one element.
int64_t SummedTerms(const Case& tested) {
  const std::string& type = tested.node.op_type;
  const auto dims = [&](size_t input) {
    return input < tested.inputs.size() ? tested.inputs[input].value.dims : reference::Dims();
  };
  if (IsOneOf(type, {"FusedMatMul", "TransposeMatMul", "MatMulNBits", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"}))
    return dims(0).back() + dims(0)[0];  // one of them is summed over
  if (!tested.node.domain.empty() && type.find("Attention") != std::string::npos)
    return 2 * dims(0).back() + reference::CountOf(dims(0)) / std::max<int64_t>(1, dims(0)[0]);
  if (IsOneOf(type, {"Conv", "ConvInteger", "FusedConv"}))
    return reference::CountOf(dims(1)) / std::max<int64_t>(1, dims(1)[0]);
  if (type == "QLinearConv") return reference::CountOf(dims(3)) / std::max<int64_t>(1, dims(3)[0]);
  if (type == "ConvTranspose") return reference::CountOf(dims(1));
  if (IsOneOf(type, {"MatMul", "MatMulInteger"})) return dims(0).back();
  if (IsOneOf(type, {"Gemm", "FusedGemm"})) return dims(0)[tested.node.Int("transA", 0) != 0 ? 0 : 1];
  if (IsOneOf(type, {"AveragePool", "LpPool"})) return reference::CountOf(tested.node.Ints("kernel_shape", {}));
  if (type.rfind("Reduce", 0) == 0 || type.rfind("Global", 0) == 0 || type.find("Normalization") != std::string::npos ||
      type.find("oftmax") != std::string::npos || IsOneOf(type, {"CumProd", "CumSum"}))
    return std::min<int64_t>(reference::CountOf(dims(0)), 4096);
  if (IsOneOf(type, {"Sum", "Mean"})) return static_cast<int64_t>(tested.inputs.size());
  // All steps of all gates that an element depends on.
  if (IsOneOf(type, {"RNN", "GRU", "LSTM", "DynamicQuantizeLSTM"}))
    return dims(0)[tested.node.Int("layout", 0) == 0 ? 0 : 1] * (dims(1)[2] + dims(2)[2]);
  if (type == "DeformConv") return reference::CountOf(dims(1)) / std::max<int64_t>(1, dims(1)[0]);
  if (type == "Einsum") {
    int64_t terms = 1;
    for (const Operand& operand : tested.inputs) terms = std::max(terms, reference::CountOf(operand.value.dims));
    return terms;
  }
  if (type == "LinearAttention") return dims(0)[1] * (dims(0)[2] + dims(2)[2]);
  if (type == "CausalConvWithState") return dims(1)[2];
  if (type == "Attention") return dims(0).back() + dims(1)[dims(1).size() - 2];
  if (IsOneOf(type, {"DFT", "STFT", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "Col2Im", "Det"}))
    return reference::CountOf(dims(0));
  return 1;
}

double LargestOf(const Case& tested, size_t input) {
  double largest = 0;
  if (input < tested.inputs.size() && tested.inputs[input].present)
    for (const double value : tested.inputs[input].value.real)
      if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  return largest;
}

// The size of the sums on the way to an element, where the terms may cancel: the result may be much smaller.
double SizeOfSums(const Case& tested, double terms) {
  const std::string& type = tested.node.op_type;
  if (IsOneOf(type, {"ReduceMean", "GlobalAveragePool", "AveragePool"})) return LargestOf(tested, 0);
  if (IsOneOf(type, {"ReduceSum", "CumSum"})) return LargestOf(tested, 0) * std::sqrt(terms);
  if (IsOneOf(type, {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"}))
    return LargestOf(tested, 0) * LargestOf(tested, 1) * std::sqrt(terms);
  return 0;
}

// Only moved, compared or rounded to whole numbers.
const std::set<std::string>& Exact() {
  // clang-format off
  static const auto* const types = new std::set<std::string>{
      "Abs", "ArgMax", "ArgMin", "BitCast", "CastLike", "Ceil", "CenterCropPad", "Clip", "Compress", "Concat", "Constant",
      "ConstantOfShape", "Crop", "DepthToSpace", "Dropout", "Expand", "EyeLike", "Flatten", "Floor", "Gather",
      "GatherElements", "GatherND", "GlobalMaxPool", "Hardmax", "Identity", "Max", "MaxPool", "MaxRoiPool",
      "MaxUnpool", "Min", "Neg", "NonMaxSuppression", "NonZero", "OneHot", "Pad", "ReduceMax", "ReduceMin", "Relu",
      "Reshape", "ReverseSequence", "Round", "Scatter", "ScatterND", "Sign", "Slice", "SpaceToDepth", "Split",
      "Squeeze", "TensorScatter", "Tile", "TopK", "Transpose", "Trilu", "Unique", "Unsqueeze", "Where"};
  // clang-format on
  return *types;
}

// Of whole tensors, without arithmetic.
const std::set<std::string>& Moving() {
  static const auto* const names = new std::set<std::string>{
      "CenterCropPad",  "Concat",   "Crop",      "DepthToSpace", "Expand",    "Flatten",      "Gather",
      "GatherElements", "GatherND", "Identity",  "Reshape",      "Slice",     "SpaceToDepth", "Split",
      "Squeeze",        "Tile",     "Transpose", "Trilu",        "Unsqueeze", "Where",        "ReverseSequence",
      "Dropout"};
  return *names;
}

// Computed by a series or a table, whose last digits differ between good libraries.
const std::set<std::string>& Series() {
  // clang-format off
  static const auto* const types = new std::set<std::string>{
      "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Attention", "BiasGelu", "BlackmanWindow",
      "CausalConvWithState", "Celu", "Cos", "Cosh", "DFT", "DynamicQuantizeLSTM",
      "Elu", "Erf", "Exp", "FastGelu", "FusedConv", "FusedGemm", "GRU", "Gelu", "GlobalLpPool",
      "GroupQueryAttention", "HammingWindow", "HannWindow", "HardSwish", "LRN", "LSTM",
      "LinearAttention", "Log", "LogSoftmax", "LpNormalization", "LpPool", "MelWeightMatrix", "Mish",
      "MultiHeadAttention", "ParametricSoftplus", "Pow", "QuickGelu", "RNN", "ReduceLogSum", "ReduceLogSumExp",
      "STFT", "ScaledTanh", "Selu", "Sigmoid", "Sin", "Sinh", "Softmax", "SoftmaxCrossEntropyLoss", "Softplus",
      "SwiGLU", "Swish", "Tan", "Tanh"};
  // clang-format on
  return *types;
}

}  // namespace

bool OnlyMoves(const reference::Node& node) { return node.domain.empty() && IsOneOf(node.op_type, Moving()); }

double Tolerance::For(double expected, double largest) const {
  const double share = relative == 0 ? 0 : relative * std::fabs(expected);  // of an infinity as well
  return absolute + share + scaled * largest;
}

Tolerance ToleranceOf(const Case& tested, deputy_dtype dtype, deputy_dtype computes_in) {
  const std::string& type = tested.node.op_type;
  if (!reference::IsReal(dtype)) {
    if (type.rfind("QLinear", 0) == 0 || IsOneOf(type, {"QuantizeLinear", "DynamicQuantizeLinear", "QGemm"}))
      return {1, 0, 0, "one step, for a tie may fall to either side when the scale is applied in another order"};
    if (type == "Cast") return {0, 0, 0, "whole numbers"};
    return {0, 0, 0, "whole numbers are exact"};
  }
  const bool narrowed = computes_in != DEPUTY_DTYPE_UNDEFINED && UnitOf(computes_in) > UnitOf(dtype);
  const double unit = narrowed ? UnitOf(computes_in) : UnitOf(dtype);
  std::string reason = reference::NameOf(narrowed ? computes_in : dtype);
  if (narrowed) reason += ", which the delegate computes in";
  // Integers that float32 holds exactly may still be rounded by a device that computes in less.
  if (IsOneOf(type, Exact()) && !narrowed)
    return {0, 0, 0, reason + "; elements are only moved or compared", OnlyMoves(tested.node)};
  const auto terms = static_cast<double>(SummedTerms(tested));
  // Rounding errors go either way, so that they grow like the root of their number.
  double units = terms > 1 ? 2 + 3 * std::sqrt(terms) : 2;
  // Sums are never accumulated in bfloat16, whose 8 bits a few terms would exhaust.
  if (unit == UnitOf(kBF16)) units = 3;
  if (terms > 1) reason += "; " + std::to_string(static_cast<int64_t>(terms)) + " terms are summed";
  // Results in narrow formats are rounded once, from a wider format.
  const double series = unit > UnitOf(kF32) ? 4 : 60;
  if (IsOneOf(type, Series())) {
    units += series;
    reason += "; a series";
  }
  if (type.find("Normalization") != std::string::npos) units += series;
  if (IsOneOf(type, {"AffineGrid", "DeformConv", "GridSample", "Resize", "RoiAlign", "Upsample"})) {
    units += series;
    reason += "; positions are computed";
  }
  // Scales are float32, and other implementations compute positions in float32: the precision of the fraction decreases
  // with the distance from the first element.
  if (IsOneOf(type, {"Resize", "Upsample"}) && unit <= UnitOf(kF32)) {
    const reference::Dims& dims = tested.inputs[0].value.dims;
    if (!dims.empty()) units += static_cast<double>(*std::max_element(dims.begin(), dims.end()));
    units *= UnitOf(kF32) / unit;
    reason += " in float32";
  }
  // Sums lose precision by cancellation, so that the magnitude of the tensor counts as well as that of the element.
  // Subnormal numbers may be flushed to zero.
  const double smallest = (narrowed ? computes_in : dtype) == kF16 ? std::ldexp(1.0, -14) : 1e-37;
  if (type == "DynamicQuantizeLSTM")
    return {2.0 / 255, units * unit, units * unit, reason + "; a state that is a tie may be a step of 8 bits off"};
  // A logarithm near 1 is as exact as its argument, which Softplus rounds to 1 plus a little, and so is the remainder
  // where Gelu's error function approaches -1 or the gates of a cell cancel.
  const bool near_zero =
      type.find("Log") != std::string::npos || IsOneOf(type, {"GRU", "Gelu", "LSTM", "Mish", "RNN", "Softplus"});
  const double sums = terms > 1 ? 2 * unit * SizeOfSums(tested, terms) : 0;
  return {std::max(near_zero ? units * unit : smallest, sums), units * unit, units * unit, reason};
}

namespace {

double LargestNumber(deputy_dtype dtype) {
  switch (dtype) {
    case kF64: return std::numeric_limits<double>::max();
    case kF16: return 65504;
    case kBF16: return std::ldexp(255.0, 120);
    default: return std::numeric_limits<float>::max();
  }
}

// Of two elements of which one is not finite, whether they are one: both NaN, the same infinity, or an infinity and a
// number at the end of the type.
bool IsSameSpecial(double a, double b, deputy_dtype dtype) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  const double finite = std::isinf(a) ? b : a;
  return std::signbit(a) == std::signbit(b) && std::fabs(finite) >= 0.98 * LargestNumber(dtype);
}

// With all digits of a whole number.
std::string ElementText(const Tensor& tensor, int64_t i) {
  char text[32];
  if (!reference::IsReal(tensor.dtype) && tensor.dtype != kU64)
    return std::to_string(tensor.whole[static_cast<size_t>(i)]);
  std::snprintf(text, sizeof text, "%.9g", tensor.Get(i));
  return text;
}

}  // namespace

bool IsLimit(deputy_dtype dtype, double value) {
  return reference::IsReal(dtype) && std::isfinite(value) && std::fabs(value) >= LargestNumber(dtype) / 2;
}

double LargestMagnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = tensor.Get(i);
    if (std::isfinite(value) && !IsLimit(tensor.dtype, value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

std::string Difference(const Tensor& got, const Tensor& expected, const Tolerance& tolerance) {
  const double largest = LargestMagnitude(expected);
  const bool is_exact = !reference::IsReal(expected.dtype) && tolerance.For(0, 0) < 1;
  double worst = 0;
  int64_t at = -1, wrong = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = got.Get(i), b = expected.Get(i);
    const auto at_i = static_cast<size_t>(i);
    // Whole numbers that a double does not hold are compared as such.
    const bool wrong_bits = is_exact && got.whole[at_i] != expected.whole[at_i];
    const bool wrong_sign = tolerance.signed_zeros && a == 0 && b == 0 && std::signbit(a) != std::signbit(b);
    if (a == b && !wrong_sign && !wrong_bits) continue;
    const bool finite = std::isfinite(a) && std::isfinite(b);
    const double error = finite ? std::fabs(a - b) : std::numeric_limits<double>::infinity();
    if (!wrong_sign && !wrong_bits &&
        (finite ? error <= tolerance.For(b, largest) : IsSameSpecial(a, b, expected.dtype)))
      continue;
    ++wrong;
    if (at < 0 || error > worst) {
      worst = error;
      at = i;
    }
  }
  if (at < 0) return "";
  const reference::Dims index = reference::IndexOf(expected.dims, at);
  char text[256];
  std::snprintf(text, sizeof text, "largest error %.3g at %s: got %s, expected %s; %lld of %lld elements beyond %.3g (",
                worst, TextOf(index).c_str(), ElementText(got, at).c_str(), ElementText(expected, at).c_str(),
                static_cast<long long>(wrong), static_cast<long long>(expected.count()),
                tolerance.For(expected.Get(at), largest));
  return text + tolerance.reason + ")";
}

}  // namespace deputy::conformance
