// Functions of one element.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

std::vector<Tensor> Map(const Tensor& x, const std::function<double(double)>& f) {
  Tensor y(x.dtype, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) y.Put(i, f(x.Get(i)));
  return {y};
}

template <double (*kFunction)(double)>
std::vector<Tensor> Plain(const Node&, const Inputs& in) {
  return Map(*in[0], kFunction);
}

std::vector<Tensor> MapWhole(const Tensor& x, const std::function<int64_t(int64_t)>& f) {
  Tensor y(x.dtype, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) y.Put(i, f(x.whole[static_cast<size_t>(i)]));
  return {y};
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }
double Softsign(double x) { return x / (1 + std::fabs(x)); }
double Reciprocal(double x) { return 1 / x; }
double HardSwish(double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }
double Mish(double x) { return x * std::tanh(Softplus(x)); }
double Sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : x); }
double NegateBits(double x) { return x != 0 ? 0 : 1; }

std::vector<Tensor> Abs(const Node&, const Inputs& in) {
  if (IsUnsigned(in[0]->dtype)) return {*in[0]};
  if (!IsReal(in[0]->dtype))
    return MapWhole(*in[0], [](int64_t v) { return v < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(v)) : v; });
  return Map(*in[0], [](double v) { return std::fabs(v); });
}

std::vector<Tensor> Neg(const Node&, const Inputs& in) {
  if (!IsReal(in[0]->dtype))
    return MapWhole(*in[0], [](int64_t v) { return static_cast<int64_t>(-static_cast<uint64_t>(v)); });
  return Map(*in[0], [](double v) { return -v; });
}

std::vector<Tensor> Relu(const Node&, const Inputs& in) {
  if (!IsReal(in[0]->dtype)) return MapWhole(*in[0], [](int64_t v) { return v > 0 ? v : 0; });
  return Map(*in[0], [](double x) { return x > 0 ? x : (std::isnan(x) ? x : 0); });
}

std::vector<Tensor> BitwiseNot(const Node&, const Inputs& in) {
  return MapWhole(*in[0], [](int64_t v) { return ~v; });
}

std::vector<Tensor> LeakyRelu(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 0.01f);
  return Map(*in[0], [=](double x) { return x < 0 ? alpha * x : x; });
}

std::vector<Tensor> Elu(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 1.0f);
  return Map(*in[0], [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

std::vector<Tensor> Celu(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 1.0f);
  return Map(*in[0], [=](double x) { return std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha)); });
}

std::vector<Tensor> Selu(const Node& node, const Inputs& in) {
  const bool first = node.since_version < 6;
  const double alpha = node.Float("alpha", first ? 1.6732f : 1.67326319217681884765625f);
  const double gamma = node.Float("gamma", first ? 1.0507f : 1.05070102214813232421875f);
  return Map(*in[0], [=](double x) { return gamma * (x <= 0 ? alpha * std::expm1(x) : x); });
}

std::vector<Tensor> HardSigmoid(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 0.2f), beta = node.Float("beta", 0.5f);
  return Map(*in[0], [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}

std::vector<Tensor> ThresholdedRelu(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 1.0f);
  return Map(*in[0], [=](double x) { return x > alpha ? x : 0; });
}

std::vector<Tensor> Affine(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 1.0f), beta = node.Float("beta", 0.0f);
  return Map(*in[0], [=](double x) { return alpha * x + beta; });
}

std::vector<Tensor> Scale(const Node& node, const Inputs& in) {
  const double scale = node.Float("scale", 1.0f);
  return Map(*in[0], [=](double x) { return scale * x; });
}

std::vector<Tensor> ScaledTanh(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 0.0f), beta = node.Float("beta", 0.0f);
  return Map(*in[0], [=](double x) { return alpha * std::tanh(beta * x); });
}

std::vector<Tensor> ParametricSoftplus(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 0.0f), beta = node.Float("beta", 0.0f);
  return Map(*in[0], [=](double x) { return alpha * Softplus(beta * x); });
}

std::vector<Tensor> Shrink(const Node& node, const Inputs& in) {
  const double bias = node.Float("bias", 0.0f), lambd = node.Float("lambd", 0.5f);
  return Map(*in[0], [=](double x) { return x < -lambd ? x + bias : (x > lambd ? x - bias : 0); });
}

std::vector<Tensor> Gelu(const Node& node, const Inputs& in) {
  if (node.String("approximate", "none") == "tanh")
    return Map(*in[0], [](double x) {
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    });
  return Map(*in[0], [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
}

// A limit of Clip: an input, or an attribute before definition 11, where it had a default. NULL: there is none.
const Tensor* Limit(const Node& node, const Inputs& in, size_t input, const char* name, float fallback, Tensor& made) {
  if (node.since_version >= 11) return At(in, input);
  made = Tensor(in[0]->dtype, {});
  made.Put(0, node.Float(name, fallback));
  return &made;
}

std::vector<Tensor> Clip(const Node& node, const Inputs& in) {
  Tensor y = *in[0], made_low, made_high;
  constexpr float kMost = std::numeric_limits<float>::max();
  const Tensor* low = Limit(node, in, 1, "min", -kMost, made_low);
  const Tensor* high = Limit(node, in, 2, "max", kMost, made_high);
  for (int64_t i = 0; i < y.count(); ++i) {
    if (low != nullptr && Less(y, i, *low, 0)) y.Copy(i, *low, 0);
    if (high != nullptr && Less(*high, 0, y, i)) y.Copy(i, *high, 0);
  }
  return {y};
}

Tensor Converted(const Tensor& x, deputy_dtype to) {
  Tensor y(to, x.dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    if (to == DEPUTY_DTYPE_BOOL)
      y.Put(i, static_cast<int64_t>(x.Get(i) != 0));
    else if (IsReal(x.dtype) || IsReal(to))
      y.Put(i, x.Get(i));
    else
      y.Put(i, x.whole[static_cast<size_t>(i)]);
  }
  return y;
}

// The first definition of Cast gives the type as a string.
deputy_dtype Named(const std::string& word) {
  static const auto* const words = new std::map<std::string, deputy_dtype>{
      {"FLOAT", DEPUTY_DTYPE_FLOAT32},  {"UINT8", DEPUTY_DTYPE_UINT8},   {"INT8", DEPUTY_DTYPE_INT8},
      {"UINT16", DEPUTY_DTYPE_UINT16},  {"INT16", DEPUTY_DTYPE_INT16},   {"INT32", DEPUTY_DTYPE_INT32},
      {"INT64", DEPUTY_DTYPE_INT64},    {"BOOL", DEPUTY_DTYPE_BOOL},     {"FLOAT16", DEPUTY_DTYPE_FLOAT16},
      {"DOUBLE", DEPUTY_DTYPE_FLOAT64}, {"UINT32", DEPUTY_DTYPE_UINT32}, {"UINT64", DEPUTY_DTYPE_UINT64}};
  return words->at(word);
}

std::vector<Tensor> Cast(const Node& node, const Inputs& in) {
  if (node.since_version < 6) return {Converted(*in[0], Named(node.String("to", "FLOAT")))};
  return {Converted(*in[0], static_cast<deputy_dtype>(node.Int("to", DEPUTY_DTYPE_FLOAT32)))};
}
std::vector<Tensor> CastLike(const Node&, const Inputs& in) { return {Converted(*in[0], in[1]->dtype)}; }

template <bool (*kTest)(double, const Node&)>
std::vector<Tensor> Test(const Node& node, const Inputs& in) {
  Tensor y(DEPUTY_DTYPE_BOOL, in[0]->dims);
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, static_cast<int64_t>(kTest(in[0]->Get(i), node)));
  return {y};
}

bool IsNotANumber(double x, const Node&) { return std::isnan(x); }
bool IsInf(double x, const Node& node) {
  return std::isinf(x) && node.Int(x > 0 ? "detect_positive" : "detect_negative", 1) != 0;
}

std::vector<Tensor> Identity(const Node&, const Inputs& in) { return {*in[0]}; }

std::vector<Tensor> BitCast(const Node& node, const Inputs& in) {
  const std::vector<uint8_t> bytes = Encode(*in[0]);
  return {Decode(static_cast<deputy_dtype>(node.Int("to", 0)), in[0]->dims, bytes.data())};
}

std::vector<Tensor> Swish(const Node& node, const Inputs& in) {
  const double alpha = node.Float("alpha", 1.0f);
  return Map(*in[0], [=](double x) { return x / (1 + std::exp(-alpha * x)); });
}

// In inference no element is dropped, and the mask is all true.
std::vector<Tensor> Dropout(const Node& node, const Inputs& in) {
  if (At(in, 2) != nullptr && in[2]->Get(0) != 0) return {};
  std::vector<Tensor> outputs = {*in[0]};
  if (node.output_count < 2) return outputs;
  Tensor mask(node.since_version < 10 ? in[0]->dtype : deputy_dtype{DEPUTY_DTYPE_BOOL}, in[0]->dims);
  for (int64_t i = 0; i < mask.count(); ++i) mask.Put(i, int64_t{1});
  outputs.push_back(mask);
  return outputs;
}

// Images: the bias is that of the channel.
std::vector<Tensor> ImageScaler(const Node& node, const Inputs& in) {
  const double scale = node.Float("scale", 1);
  const std::vector<float> bias = node.Floats("bias", {});
  Tensor y(in[0]->dtype, in[0]->dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const auto channel = static_cast<size_t>(IndexOf(y.dims, i)[1]);
    y.Put(i, scale * in[0]->Get(i) + (bias.empty() ? 0.0 : static_cast<double>(bias[channel])));
  }
  return {y};
}

}  // namespace

KernelRows ElementwiseKernels() {
  return {{"Abs", Abs},
          {"Acos", Plain<std::acos>},
          {"Acosh", Plain<std::acosh>},
          {"Affine", Affine},
          {"Asin", Plain<std::asin>},
          {"Asinh", Plain<std::asinh>},
          {"Atan", Plain<std::atan>},
          {"Atanh", Plain<std::atanh>},
          {"BitCast", BitCast},
          {"BitwiseNot", BitwiseNot},
          {"Cast", Cast},
          {"CastLike", CastLike},
          {"Ceil", Plain<std::ceil>},
          {"Celu", Celu},
          {"Clip", Clip},
          {"Cos", Plain<std::cos>},
          {"Cosh", Plain<std::cosh>},
          {"Dropout", Dropout},
          {"Elu", Elu},
          {"Erf", Plain<std::erf>},
          {"Exp", Plain<std::exp>},
          {"Floor", Plain<std::floor>},
          {"Gelu", Gelu},
          {"HardSigmoid", HardSigmoid},
          {"HardSwish", Plain<HardSwish>},
          {"Identity", Identity},
          {"ImageScaler", ImageScaler},
          {"IsInf", Test<IsInf>},
          {"IsNaN", Test<IsNotANumber>},
          {"LeakyRelu", LeakyRelu},
          {"Log", Plain<std::log>},
          {"Mish", Plain<Mish>},
          {"Neg", Neg},
          {"Not", Plain<NegateBits>},
          {"ParametricSoftplus", ParametricSoftplus},
          {"Reciprocal", Plain<Reciprocal>},
          {"Relu", Relu},
          {"Round", Plain<std::nearbyint>},
          {"Scale", Scale},
          {"ScaledTanh", ScaledTanh},
          {"Selu", Selu},
          {"Shrink", Shrink},
          {"Sigmoid", Plain<Sigmoid>},
          {"Sign", Plain<Sign>},
          {"Sin", Plain<std::sin>},
          {"Sinh", Plain<std::sinh>},
          {"Softplus", Plain<Softplus>},
          {"Softsign", Plain<Softsign>},
          {"Sqrt", Plain<std::sqrt>},
          {"Swish", Swish},
          {"Tan", Plain<std::tan>},
          {"Tanh", Plain<std::tanh>},
          {"ThresholdedRelu", ThresholdedRelu}};
}

}  // namespace deputy::conformance::reference
