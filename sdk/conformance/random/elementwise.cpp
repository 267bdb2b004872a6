// Functions of one element: any shape, values over the whole domain.
#include <map>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

struct Domain {
  double low = -4, high = 4;
  bool whole = true;  // defined for all floats
};

// Trigonometry of huge numbers is meaningless, and very fast growth overflows at other elements than in double.
const std::map<std::string, Domain>& Domains() {
  static const auto* const domains = new std::map<std::string, Domain>{
      {"Acos", {-1, 1}},          {"Acosh", {1, 8}},         {"Asin", {-1, 1}},       {"Atanh", {-0.96875, 0.96875}},
      {"Cos", {-9, 9, false}},    {"Sin", {-9, 9, false}},   {"Tan", {-1, 1, false}}, {"Log", {0.03125, 8}},
      {"Sqrt", {0, 8}},           {"Reciprocal", {0.25, 8}}, {"Erf", {-3, 3}},        {"Gelu", {-4, 4, false}},
      {"Mish", {-8, 8, false}},   {"HardSwish", {-6, 6}},    {"Softplus", {-20, 20}}, {"Sinh", {-4, 4}},
      {"Cosh", {-4, 4}},          {"Exp", {-8, 8}},          {"Sigmoid", {-12, 12}},  {"Celu", {-4, 4, false}},
      {"Shrink", {-4, 4, false}}, {"Swish", {-8, 8, false}}};
  return *domains;
}

void WriteFunction(Draft& d) {
  const auto found = Domains().find(d.op_type());
  const Domain domain = found == Domains().end() ? Domain() : found->second;
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.Shape(0, 8);
  d.In(domain.whole && d.Once(5) ? d.Wild(dtype, dims) : d.Values(dtype, dims, domain.low, domain.high));
  d.Maybe("consumed_inputs", Ints({0}));
  const double least = d.op_type() == "Celu" ? 0.25 : -2;
  for (const char* name : {"alpha", "beta", "gamma"}) d.Maybe(name, Number(d, least, 2));
  d.Maybe("bias", Number(d, -1, 1)).Maybe("lambd", Number(d, 0, 2));
  d.Maybe("approximate", Text(d.Half() ? "tanh" : "none"));
  for (const char* name : {"detect_negative", "detect_positive"}) d.Maybe(name, Int(d.Between(0, 1)));
}

void WriteClip(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const double low = static_cast<double>(d.Between(-64, 16)) / 32,
               high = low + static_cast<double>(d.Between(-8, 96)) / 32;
  d.In(d.Any(dtype, d.Shape(0, 8)));
  if (d.since() < 11) {
    d.Maybe("min", Float(static_cast<float>(low))).Maybe("max", Float(static_cast<float>(high)));
    d.Maybe("consumed_inputs", Ints({0}));
    return;
  }
  const auto limit = [&](double value) {
    return reference::IsReal(dtype)
               ? RealScalar(value, dtype)
               : RealScalar(static_cast<double>(static_cast<int64_t>(IsUnsigned(dtype) ? (value + 2) * 3 : value * 3)),
                            dtype);
  };
  if (d.Half())
    d.In(limit(low));
  else
    d.None();
  if (d.Half()) d.In(limit(high));
}

// Casts of numbers out of range are undefined, so that the numbers are small, and positive for unsigned types.
Tensor Castable(Draft& d, deputy_dtype from, deputy_dtype to) {
  const Dims dims = d.Shape(0, 8);
  const bool whole_to_whole = !reference::IsReal(from) && !reference::IsReal(to);
  if ((whole_to_whole || from == to || (reference::IsReal(from) && (reference::IsReal(to) || to == kBool))) && d.Half())
    return d.Wild(from, dims);
  return d.Values(from, dims, IsUnsigned(to) ? 0 : -40, 40);
}

const char* WordOf(deputy_dtype dtype) {
  switch (dtype) {
    case kF32: return "FLOAT";
    case kU8: return "UINT8";
    case kI8: return "INT8";
    case kU16: return "UINT16";
    case kI16: return "INT16";
    case kI32: return "INT32";
    case kI64: return "INT64";
    case kBool: return "BOOL";
    case kF16: return "FLOAT16";
    case kF64: return "DOUBLE";
    case kU32: return "UINT32";
    default: return "UINT64";
  }
}

void WriteCast(Draft& d) {
  const deputy_dtype from = d.Type(), to = d.Type();
  d.In(Castable(d, from, to)).Set("to", d.since() < 6 ? Text(WordOf(to)) : Int(to));
  d.Maybe("saturate", Int(d.Between(0, 1)));
}

void WriteCastLike(Draft& d) {
  const deputy_dtype from = d.Type(), to = d.Type();
  d.In(Castable(d, from, to)).In(d.Values(to, d.Shape(0, 3))).Maybe("saturate", Int(d.Between(0, 1)));
}

// The seed and the rate are for training alone.
void WriteDropout(Draft& d) {
  d.In(d.Any(d.Type(), d.Shape(0, 8)));
  d.Maybe("ratio", Number(d, 0, 0.9)).Maybe("seed", Int(d.Between(0, 9))).Maybe("consumed_inputs", Ints({0}));
  if (d.Has("is_test")) d.Set("is_test", Int(1));
  if (d.since() >= 12) {
    if (d.Half())
      d.In(RealScalar(0.25, d.Pick<deputy_dtype>({kF16, kF32, kF64})));
    else
      d.None();
    if (d.Half()) d.In(RealScalar(0, kBool));
  }
  d.Outputs(d.Half() ? 2 : 1);
}

void WriteBitCast(Draft& d) {
  const deputy_dtype from = d.Type();
  std::vector<deputy_dtype> targets;
  for (const deputy_dtype to : d.types())
    if (reference::BytesOf(to) == reference::BytesOf(from) && to != kBool) targets.push_back(to);
  d.In(from == kBool ? d.Values(from, d.Shape(0, 8)) : d.Values(from, d.Shape(0, 8), 0, 4));
  d.Set("to", Int(d.Pick(targets)));
}

void WriteImageScaler(Draft& d) {
  const Dims dims = d.Shape(4, 4);
  d.In(d.Values(d.Type(), dims)).Maybe("scale", Number(d, -2, 2));
  std::vector<float> bias;
  for (int64_t i = 0; i < dims[1]; ++i) bias.push_back(static_cast<float>(d.Between(-64, 64)) / 32);
  if (!bias.empty()) d.Maybe("bias", Attribute::Floats(bias));
}

void WriteScaledFunction(Draft& d) {
  d.In(d.Values(d.Type(), d.Shape(0, 8), -4, 4));
  d.Set("alpha", Number(d, -2, 2)).Set("beta", Number(d, -2, 2));
}

void WriteScale(Draft& d) { d.In(d.Values(d.Type(), d.Shape(0, 8), -4, 4)).Maybe("scale", Number(d, -2, 2)); }

}  // namespace

DraftRows ElementwiseDrafts() {
  DraftRows rows = {{"Affine", WriteScaledFunction},
                    {"BitCast", WriteBitCast},
                    {"Cast", WriteCast},
                    {"CastLike", WriteCastLike},
                    {"Clip", WriteClip},
                    {"Dropout", WriteDropout},
                    {"ImageScaler", WriteImageScaler},
                    {"ParametricSoftplus", WriteScaledFunction},
                    {"Scale", WriteScale},
                    {"ScaledTanh", WriteScaledFunction}};
  for (const char* op_type : {"Abs",
                              "Acos",
                              "Acosh",
                              "Asin",
                              "Asinh",
                              "Atan",
                              "Atanh",
                              "BitwiseNot",
                              "Ceil",
                              "Celu",
                              "Cos",
                              "Cosh",
                              "Elu",
                              "Erf",
                              "Exp",
                              "Floor",
                              "Gelu",
                              "HardSigmoid",
                              "HardSwish",
                              "Identity",
                              "IsInf",
                              "IsNaN",
                              "LeakyRelu",
                              "Log",
                              "Mish",
                              "Neg",
                              "Not",
                              "Reciprocal",
                              "Relu",
                              "Round",
                              "Selu",
                              "Shrink",
                              "Sigmoid",
                              "Sign",
                              "Sin",
                              "Sinh",
                              "Softplus",
                              "Softsign",
                              "Sqrt",
                              "Swish",
                              "Tan",
                              "Tanh",
                              "ThresholdedRelu"})
    rows.push_back({op_type, WriteFunction});
  return rows;
}

}  // namespace deputy::conformance
