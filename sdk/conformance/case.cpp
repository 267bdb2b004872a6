#include "case.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "cases/families.hpp"
#include "definitions.hpp"
#include "schema/operator_name.hpp"

namespace deputy::conformance {

reference::Inputs Case::operands() const {
  reference::Inputs all;
  for (const Operand& input : inputs) all.push_back(input.present ? &input.value : nullptr);
  return all;
}

bool ArePositions(const reference::Node& node, size_t input) { return node.name() == "MaxRoiPool" && input == 1; }

Case Turned(const Case& tested, size_t turn) {
  Case other = tested;
  for (size_t i = 0; i < other.inputs.size(); ++i) {
    Operand& input = other.inputs[i];
    if (!input.present || input.constant || !reference::IsReal(input.value.dtype)) continue;
    if (ArePositions(tested.node, i)) continue;
    std::vector<double>& values = input.value.real;
    if (!values.empty())
      std::rotate(values.begin(), values.begin() + static_cast<ptrdiff_t>(turn % values.size()), values.end());
  }
  return other;
}

CaseBuilder::CaseBuilder(std::vector<Case>& cases, std::string name, uint64_t seed)
    : cases_(cases), name_(std::move(name)) {
  uint64_t hash = 0xcbf29ce484222325u ^ seed;  // FNV-1a
  for (const char letter : name_) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  random_.seed(hash);
  Begin();
}

CaseBuilder& CaseBuilder::Begin() {
  made_ = Case();
  since_ = 0;
  made_.node.op_type = schema::OperatorType(name_);
  if (const OperatorFacts* facts = FactsOf(name_)) made_.node.domain = facts->domain;
  return *this;
}

CaseBuilder& CaseBuilder::In(Tensor value) {
  made_.inputs.push_back({std::move(value), true, false});
  return *this;
}
CaseBuilder& CaseBuilder::Const(Tensor value) {
  made_.inputs.push_back({std::move(value), true, true});
  return *this;
}
CaseBuilder& CaseBuilder::None() {
  made_.inputs.push_back({Tensor(), false, false});
  return *this;
}

CaseBuilder& CaseBuilder::With(const std::string& name, Attribute value) {
  Note(name + "=" + TextOf(value));
  return Quietly(name, std::move(value));
}
CaseBuilder& CaseBuilder::Quietly(const std::string& name, Attribute value) {
  made_.node.attributes[name] = std::move(value);
  return *this;
}
CaseBuilder& CaseBuilder::Note(const std::string& text) {
  made_.label += (made_.label.empty() ? "" : " ") + text;
  return *this;
}
CaseBuilder& CaseBuilder::Outputs(size_t count) {
  made_.node.output_count = count;
  return *this;
}

CaseBuilder& CaseBuilder::Since(int32_t version) {
  since_ = version;
  return *this;
}

void CaseBuilder::Add() {
  const deputy_dtype dtype = made_.inputs.empty() || !made_.inputs[0].present ? kF32 : made_.inputs[0].value.dtype;
  if (dtype != kF32) Note(std::string("dtype=") + reference::NameOf(dtype));
  if (made_.label.empty()) made_.label = "plain";
  made_.node.since_version = since_ != 0 ? since_ : OldestDefinition(made_.node, made_.operands());
  cases_.push_back(std::move(made_));
  Begin();
}

Tensor CaseBuilder::Random(deputy_dtype dtype, Dims dims, double low, double high) {
  Tensor tensor(dtype, std::move(dims));
  const bool is_unsigned = dtype == kU8 || dtype == kU16 || dtype == kU32 || dtype == kU64;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const auto steps = static_cast<uint64_t>((high - low) * 32) + 1;
    const double value = low + static_cast<double>(random_() % steps) / 32;
    if (dtype == kBool)
      tensor.Put(i, static_cast<int64_t>(random_() % 2));
    else if (reference::IsReal(dtype))
      tensor.Put(i, value);
    else
      tensor.Put(i, static_cast<int64_t>((is_unsigned ? value - low : value) * 3));
  }
  return tensor;
}

Tensor CaseBuilder::Distinct(deputy_dtype dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  std::vector<int64_t> order(static_cast<size_t>(tensor.count()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int64_t value = order[static_cast<size_t>(i)];
    if (reference::IsReal(dtype))
      tensor.Put(i, static_cast<double>(value - tensor.count() / 2) / 16);
    else
      tensor.Put(i, value);
  }
  return tensor;
}

Tensor Whole(std::vector<int64_t> values) {
  Tensor tensor(kI64, {static_cast<int64_t>(values.size())});
  tensor.whole = std::move(values);
  return tensor;
}
Tensor WholeScalar(int64_t value) {
  Tensor tensor(kI64, {});
  tensor.Put(0, value);
  return tensor;
}
Tensor Real(std::vector<double> values) {
  Tensor tensor(kF32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.Put(static_cast<int64_t>(i), values[i]);
  return tensor;
}
Tensor RealScalar(double value, deputy_dtype dtype) {
  Tensor tensor(dtype, {});
  tensor.Put(0, value);
  return tensor;
}

std::string TextOf(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

namespace {

std::string TextOf(float value) {
  char number[32];
  std::snprintf(number, sizeof number, "%g", static_cast<double>(value));
  return number;
}

}  // namespace

std::string TextOf(const Attribute& attribute) {
  std::string list;
  switch (attribute.type) {
    case DEPUTY_ATTRIBUTE_INT: return std::to_string(attribute.i);
    case DEPUTY_ATTRIBUTE_FLOAT: return TextOf(attribute.f);
    case DEPUTY_ATTRIBUTE_STRING: return attribute.s;
    case DEPUTY_ATTRIBUTE_INTS: return TextOf(attribute.ints);
    case DEPUTY_ATTRIBUTE_FLOATS:
      for (const float value : attribute.floats) list += (list.empty() ? "" : ",") + TextOf(value);
      return "[" + list + "]";
    case DEPUTY_ATTRIBUTE_STRINGS:
      for (const std::string& value : attribute.strings) list += (list.empty() ? "" : ",") + value;
      return "[" + list + "]";
    case DEPUTY_ATTRIBUTE_TENSOR: return "tensor" + TextOf(attribute.tensor.dims);
    default: return "?";
  }
}

std::vector<Case> AllCases(uint64_t seed) {
  std::vector<Case> cases;
#define DEPUTY_ADD(family) Add##family##Cases(cases, seed);
  DEPUTY_CASE_FAMILIES(DEPUTY_ADD)
#undef DEPUTY_ADD
  std::stable_sort(cases.begin(), cases.end(),
                   [](const Case& a, const Case& b) { return a.node.name() < b.node.name(); });
  return cases;
}

}  // namespace deputy::conformance
