#include "probing/forms.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

struct Domain {
  double low = -2, high = 2;
};

const std::map<std::string, Domain>& Functions() {
  static const auto* const all = new std::map<std::string, Domain>{{"Abs", {}},
                                                                   {"Acos", {-1, 1}},
                                                                   {"Acosh", {1, 4}},
                                                                   {"Asin", {-1, 1}},
                                                                   {"Asinh", {}},
                                                                   {"Atan", {}},
                                                                   {"Atanh", {-0.9, 0.9}},
                                                                   {"Ceil", {}},
                                                                   {"Celu", {}},
                                                                   {"Clip", {}},
                                                                   {"Cos", {}},
                                                                   {"Cosh", {}},
                                                                   {"Dropout", {}},
                                                                   {"Elu", {}},
                                                                   {"Erf", {}},
                                                                   {"Exp", {}},
                                                                   {"Flatten", {}},
                                                                   {"Floor", {}},
                                                                   {"Gelu", {}},
                                                                   {"HardSigmoid", {-4, 4}},
                                                                   {"HardSwish", {-4, 4}},
                                                                   {"Identity", {}},
                                                                   {"LeakyRelu", {}},
                                                                   {"Log", {0.125, 4}},
                                                                   {"LogSoftmax", {}},
                                                                   {"Mish", {}},
                                                                   {"Neg", {}},
                                                                   {"Reciprocal", {0.25, 4}},
                                                                   {"Relu", {}},
                                                                   {"Round", {}},
                                                                   {"Selu", {}},
                                                                   {"Sigmoid", {}},
                                                                   {"Sign", {}},
                                                                   {"Sin", {}},
                                                                   {"Sinh", {}},
                                                                   {"Softmax", {}},
                                                                   {"Softplus", {}},
                                                                   {"Softsign", {}},
                                                                   {"Sqrt", {0, 4}},
                                                                   {"Tan", {-1, 1}},
                                                                   {"Tanh", {}},
                                                                   {"ThresholdedRelu", {}},
                                                                   {"GlobalAveragePool", {}},
                                                                   {"GlobalMaxPool", {}},
                                                                   {"Transpose", {}},
                                                                   {"ReduceMean", {}},
                                                                   {"ReduceMax", {}},
                                                                   {"ReduceMin", {}},
                                                                   {"ReduceSum", {}},
                                                                   {"Shape", {}}};
  return *all;
}

const std::map<std::string, Domain>& Pairs() {
  static const auto* const all = new std::map<std::string, Domain>{
      {"Add", {}}, {"Sub", {}},   {"Mul", {}},     {"Div", {0.5, 3}}, {"Max", {}},   {"Min", {}},
      {"Sum", {}}, {"Equal", {}}, {"Greater", {}}, {"Less", {}},      {"PRelu", {}}, {"Concat", {}}};
  return *all;
}

bool IsImage(const Dims& dims) { return dims.size() >= 3 && dims.size() <= 5; }

Dims WithKernel(int64_t out, int64_t in, size_t spatial, int64_t extent) {
  Dims dims = {out, in};
  dims.insert(dims.end(), spatial, extent);
  return dims;
}

bool AddConvolution(CaseBuilder& b, const std::string& type, const Form& form) {
  const Dims& x = form.dims;
  if (!IsImage(x)) return false;
  const size_t spatial = x.size() - 2;
  const int64_t channels = x[1], most = channels <= 32 ? channels : 32;
  constexpr int64_t kMostTerms = 4000000;
  const int64_t kernel =
      *std::min_element(x.begin() + 2, x.end()) >= 3 && reference::CountOf(x) * most * 9 <= kMostTerms ? 3 : 1;
  b.In(b.Random(form.dtype, x)).Quietly("kernel_shape", Ints(Dims(spatial, kernel)));
  // In eights, where the channels are.
  const Dims weights =
      type == "Conv" ? WithKernel(most, channels, spatial, kernel) : WithKernel(channels, most, spatial, kernel);
  b.Const(b.Random(form.dtype, weights, -0.5, 0.5)).Const(b.Random(form.dtype, {most}));
  if (type == "Conv" && kernel == 3) b.Quietly("pads", Ints(Dims(2 * spatial, 1)));
  return true;
}

bool AddPool(CaseBuilder& b, const Form& form) {
  if (!IsImage(form.dims) || *std::min_element(form.dims.begin() + 2, form.dims.end()) < 2) return false;
  const size_t spatial = form.dims.size() - 2;
  b.In(b.Random(form.dtype, form.dims)).Quietly("kernel_shape", Ints(Dims(spatial, 2)));
  b.Quietly("strides", Ints(Dims(spatial, 2)));
  return true;
}

bool AddProduct(CaseBuilder& b, const std::string& type, const Form& form) {
  const Dims& x = form.dims;
  if (x.size() < 2 || (type == "Gemm" && x.size() != 2)) return false;
  // Of a wide matrix the rows of the result are wide, and not its sums.
  const bool is_wide = x.back() >= 250 && x.back() <= 2000;
  const int64_t columns = std::min<int64_t>(x.back(), 32);
  if (is_wide) {
    Dims narrow = x;
    narrow.back() = 24;
    b.In(b.Random(form.dtype, narrow)).Const(b.Random(form.dtype, {24, x.back()}, -0.5, 0.5));
    if (type == "Gemm") b.Const(b.Random(form.dtype, {x.back()}));
    return true;
  }
  b.In(b.Random(form.dtype, x)).Const(b.Random(form.dtype, {x.back(), columns}, -0.5, 0.5));
  if (type == "Gemm") b.Const(b.Random(form.dtype, {columns}));
  return true;
}

bool AddNormalization(CaseBuilder& b, const std::string& type, const Form& form) {
  const Dims& x = form.dims;
  if (x.size() < 2) return false;
  const Dims per_channel = {type == "LayerNormalization" ? x.back() : x[1]};
  const auto positive = [&] { return b.Random(form.dtype, per_channel, 0.5, 2); };
  b.In(b.Random(form.dtype, x)).Const(positive()).Const(b.Random(form.dtype, per_channel));
  if (type == "BatchNormalization") b.Const(b.Random(form.dtype, per_channel)).Const(positive());
  return type != "InstanceNormalization" || x.size() >= 3;
}

bool AddQuantization(CaseBuilder& b, const std::string& type, const Form& form) {
  if (type == "QuantizeLinear" && !reference::IsReal(form.dtype)) return false;
  if (type == "DequantizeLinear" && form.dtype != kU8 && form.dtype != kI8) return false;
  const deputy_dtype stored = type == "QuantizeLinear" ? kU8 : form.dtype;
  const bool is_real = reference::IsReal(form.dtype);
  b.In(b.Random(form.dtype, form.dims, is_real ? -2 : 0, is_real ? 2 : 40)).Const(RealScalar(0.0625));
  b.Const(Zero(stored, {int64_t{stored == kU8 ? 128 : 0}}));
  return true;
}

bool AddSlice(CaseBuilder& b, const Form& form) {
  if (form.dims.empty() || form.dims.back() < 2) return false;
  b.In(b.Random(form.dtype, form.dims))
      .Const(Whole({1}))
      .Const(Whole({form.dims.back()}))
      .Const(Whole({static_cast<int64_t>(form.dims.size()) - 1}));
  return true;
}

// Adds the inputs and attributes; false where the operator has no such form.
bool Write(CaseBuilder& b, const std::string& type, const Form& form) {
  if (const auto found = Functions().find(type); found != Functions().end()) {
    b.In(b.Random(form.dtype, form.dims, found->second.low, found->second.high));
    if (type == "Clip")
      b.Const(RealScalar(reference::IsReal(form.dtype) ? -0.75 : 1, form.dtype)).Const(RealScalar(1, form.dtype));
    return type.rfind("Global", 0) != 0 || IsImage(form.dims);
  }
  if (const auto found = Pairs().find(type); found != Pairs().end()) {
    b.In(b.Random(form.dtype, form.dims)).In(b.Random(form.dtype, form.dims, found->second.low, found->second.high));
    if (type == "Concat") b.Quietly("axis", Int(form.dims.size() > 1 ? 1 : 0));
    return type != "Concat" || !form.dims.empty();
  }
  if (type == "Conv" || type == "ConvTranspose") return AddConvolution(b, type, form);
  if (type == "MaxPool" || type == "AveragePool" || type == "LpPool") return AddPool(b, form);
  if (type == "MatMul" || type == "Gemm") return AddProduct(b, type, form);
  if (type == "BatchNormalization" || type == "InstanceNormalization" || type == "LayerNormalization")
    return AddNormalization(b, type, form);
  if (type == "QuantizeLinear" || type == "DequantizeLinear") return AddQuantization(b, type, form);
  if (type == "Slice") return AddSlice(b, form);
  if (type == "Reshape") {
    b.In(b.Random(form.dtype, form.dims)).Const(Whole({form.dims.empty() ? 1 : form.dims[0], -1}));
    return reference::CountOf(form.dims) > 0;
  }
  if (type == "Cast") {
    b.In(b.Random(form.dtype, form.dims, 0, 40)).Quietly("to", Int(form.dtype == kF32 ? kF16 : kF32));
    return true;
  }
  return false;
}

}  // namespace

std::string Form::ToString() const {
  return ShapeNote(dims) + (dtype == kF32 ? "" : std::string(" dtype=") + reference::NameOf(dtype));
}

std::optional<Case> CaseIn(const std::string& op_type, const Form& form, uint64_t seed) {
  const std::vector<deputy_dtype> types = TypesOf(op_type);
  if (std::find(types.begin(), types.end(), form.dtype) == types.end() && !types.empty()) return std::nullopt;
  std::vector<Case> made;
  CaseBuilder b(made, op_type, seed);
  b.Note(ShapeNote(form.dims));
  if (!Write(b, op_type, form)) return std::nullopt;
  b.Add();
  return made.front();
}

std::optional<Form> FormOf(const Case& tested) {
  if (tested.inputs.empty() || !tested.inputs[0].present || tested.inputs[0].constant) return std::nullopt;
  return Form{tested.inputs[0].value.dtype, tested.inputs[0].value.dims};
}

std::vector<Form> CommonForms() {
  std::vector<Form> all;
  for (const deputy_dtype dtype : {kF32, kF16, kBF16, kI8, kU8, kI32, kI64, kF64})
    for (const Dims& dims : std::vector<Dims>{{1, 8, 4, 4},
                                              {1, 16, 8, 8},
                                              {16, 16},
                                              {1, 32, 4, 4},
                                              {1, 64, 4, 4},
                                              {1, 8, 16},
                                              {1, 64},
                                              {64},
                                              {8, 32},
                                              {2, 16, 5, 7},
                                              {1, 3, 32, 32},
                                              {1, 1, 1, 64},
                                              {1, 1, 8, 8},
                                              {1, 8, 2, 4, 4},
                                              {1, 64, 1, 1}})
      all.push_back({dtype, dims});
  return all;
}

std::vector<Form> TailsOf(const Form& form) {
  std::vector<Form> all;
  if (form.dims.empty()) return all;
  for (const int64_t extent : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 33, 63, 65, 127, 129}) {
    all.push_back(form);
    all.back().dims.back() = extent;
    // A single row, so that the tail is the end of the buffer as well.
    if (form.dims.size() <= 2) continue;
    for (size_t i = 2; i + 1 < form.dims.size(); ++i) all.back().dims[i] = std::min<int64_t>(form.dims[i], 3);
  }
  return all;
}

std::vector<Form> WideOf(const Form& form) {
  std::vector<Form> all;
  const size_t rank = form.dims.size();
  if (rank < 2) return all;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>(3, 1000), {7, 259}, {5, 1030}}) {
    Form wide = form;
    wide.dims[0] = first;
    wide.dims[rank - 1] = last;
    for (size_t i = 1; i + 1 < rank; ++i) wide.dims[i] = std::min<int64_t>(i == 1 ? form.dims[1] : 3, form.dims[i]);
    all.push_back(wide);
  }
  return all;
}

std::vector<std::vector<Form>> AreasOf(const Form& form) {
  std::vector<std::vector<Form>> all;
  const size_t rank = form.dims.size();
  if (rank == 0) return all;
  for (const auto& [height, width, tiles] : {std::tuple<int64_t, int64_t, int64_t>(181, 183, 192), {257, 263, 272}}) {
    std::vector<Form> alternatives;
    for (const bool one_channel : {true, false})
      for (const bool odd : {true, false}) {
        Form large = form;
        large.dims[0] = rank > 2 ? 1 : large.dims[0];
        for (size_t i = 1; i + 2 < rank; ++i) large.dims[i] = i == 1 && !one_channel ? form.dims[1] : 1;
        if (rank == 1) {
          large.dims = {odd ? height * width : tiles * tiles};
        } else if (rank == 3) {
          large.dims[1] = one_channel ? 1 : form.dims[1];
          large.dims[2] = odd ? height * width : tiles * tiles;
        } else {
          large.dims[rank - 2] = odd ? height : tiles;
          large.dims[rank - 1] = odd ? width : tiles;
        }
        alternatives.push_back(large);
      }
    all.push_back(std::move(alternatives));
  }
  return all;
}

}  // namespace deputy::conformance
