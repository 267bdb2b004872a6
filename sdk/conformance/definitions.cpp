#include "definitions.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>

namespace deputy::conformance {
namespace {

constexpr uint32_t Bit(deputy_dtype dtype) { return 1u << static_cast<uint32_t>(dtype); }

// The macros and constants of the list.
constexpr uint32_t kU8 = Bit(DEPUTY_DTYPE_UINT8), kU16 = Bit(DEPUTY_DTYPE_UINT16), kU32 = Bit(DEPUTY_DTYPE_UINT32),
                   kU64 = Bit(DEPUTY_DTYPE_UINT64), kI8 = Bit(DEPUTY_DTYPE_INT8), kI16 = Bit(DEPUTY_DTYPE_INT16),
                   kI32 = Bit(DEPUTY_DTYPE_INT32), kI64 = Bit(DEPUTY_DTYPE_INT64), kF16 = Bit(DEPUTY_DTYPE_FLOAT16),
                   kF32 = Bit(DEPUTY_DTYPE_FLOAT32), kF64 = Bit(DEPUTY_DTYPE_FLOAT64),
                   kBf16 = Bit(DEPUTY_DTYPE_BFLOAT16), kBool = Bit(DEPUTY_DTYPE_BOOL), kStr = Bit(DEPUTY_DTYPE_STRING);
constexpr uint32_t kFloats = kF16 | kF32 | kF64, kFloatsBf16 = kFloats | kBf16;
constexpr uint32_t kWide = kFloats | kU32 | kU64 | kI32 | kI64, kWideBf16 = kWide | kBf16;
constexpr uint32_t kNumeric = kWide | kU8 | kU16 | kI8 | kI16, kNumericBf16 = kNumeric | kBf16;
constexpr uint32_t kAnyButBf16 = kNumeric | kBool | kStr, kAnyTensor = kAnyButBf16 | kBf16;
constexpr uint32_t kSmall19 = Bit(DEPUTY_DTYPE_FLOAT8E4M3FN) | Bit(DEPUTY_DTYPE_FLOAT8E4M3FNUZ) |
                              Bit(DEPUTY_DTYPE_FLOAT8E5M2) | Bit(DEPUTY_DTYPE_FLOAT8E5M2FNUZ);
constexpr uint32_t kInt4s = Bit(DEPUTY_DTYPE_UINT4) | Bit(DEPUTY_DTYPE_INT4);
constexpr uint32_t kSmall21 = kSmall19 | kInt4s;
constexpr uint32_t kSmall23 = kSmall21 | Bit(DEPUTY_DTYPE_FLOAT4E2M1),
                   kSmall24 = kSmall23 | Bit(DEPUTY_DTYPE_FLOAT8E8M0);
constexpr uint32_t kFloat8E4M3FN = Bit(DEPUTY_DTYPE_FLOAT8E4M3FN), kFloat8E8M0 = Bit(DEPUTY_DTYPE_FLOAT8E8M0),
                   kInt2s = Bit(DEPUTY_DTYPE_UINT2) | Bit(DEPUTY_DTYPE_INT2);
constexpr uint32_t kSmall25 = kSmall24 | kInt2s;
constexpr bool kChanged = true, kExtended = false;
constexpr int32_t kStillThere = INT32_MAX;
constexpr size_t kVariadic = SIZE_MAX;

std::vector<deputy_dtype> TypesIn(uint32_t bits) {
  std::vector<deputy_dtype> types;
  for (deputy_dtype dtype = 1; dtype <= DEPUTY_DTYPE_BFLOAT16; ++dtype)
    if (dtype != DEPUTY_DTYPE_STRING && (bits & Bit(dtype)) != 0) types.push_back(dtype);
  return types;
}

// Those of "input type, ...".
void AddNames(std::string_view operands, std::vector<std::string>& names) {
  while (!operands.empty()) {
    const size_t comma = std::min(operands.find(','), operands.size());
    std::string_view one = operands.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (!one.empty()) names.emplace_back(one.substr(0, one.find(' ')));
    operands.remove_prefix(std::min(comma + 1, operands.size()));
  }
}

// The list is no valid code before macro expansion.
// clang-format off
std::vector<OperatorFacts> MakeAll() {
  std::vector<OperatorFacts> all;
#define DEPUTY_OPERATOR_BEGIN(name, domain, min_inputs, max_inputs, min_outputs, max_outputs) \
  all.push_back({#name, domain, {}, {}, {}, size_t{min_inputs}, size_t{max_inputs}, size_t{max_outputs}});
#define DEPUTY_DEFINITION(name, since, change, types) all.back().definitions.push_back({since, change, TypesIn(types)});
#define DEPUTY_ATTRIBUTE(name, kind, attribute, since, until, ...) \
  all.back().attributes.push_back({#attribute, since, until});
#define DEPUTY_FORMER_ATTRIBUTE DEPUTY_ATTRIBUTE
#define DEPUTY_INPUTS(name, operands) AddNames(operands, all.back().inputs);
#include "schema/operators.inc"
  return all;
}
// clang-format on

bool Holds(const Definition& definition, deputy_dtype dtype) {
  return std::find(definition.types.begin(), definition.types.end(), dtype) != definition.types.end();
}

bool HasAttributes(const OperatorFacts& facts, const reference::Node& node, int32_t version) {
  for (const auto& [name, value] : node.attributes)
    for (const AttributeFact& fact : facts.attributes)
      if (fact.name == name && (version < fact.since || version >= fact.until)) return false;
  return true;
}

// The first definition with a feature that neither attributes nor the element type show.
int32_t FirstWithForm(const reference::Node& node, const reference::Inputs& inputs) {
  const auto has = [&](size_t i) { return reference::At(inputs, i) != nullptr; };
  int32_t first = 1;
  if (!node.domain.empty()) return first;
  const auto need = [&](int32_t version, bool used) { first = used ? std::max(first, version) : first; };
  for (const char* name : {"axis", "axes"}) {
    std::vector<int64_t> axes = node.Ints(name, {});
    axes.push_back(node.Int(name, 0));
    need(11, std::any_of(axes.begin(), axes.end(), [](int64_t axis) { return axis < 0; }));
  }
  const std::string& type = node.op_type;
  need(11, type == "Gather" || type == "Slice" || (type == "Gemm" && !has(2)));
  need(13, type == "Resize" && (!has(1) || !has(2)));
  need(18, type == "Pad" && has(3));
  need(19, type == "Pad" && node.String("mode", "") == "wrap");
  need(19, node.String("coordinate_transformation_mode", "") == "half_pixel_symmetric");
  const std::string reduction = node.String("reduction", "none");
  need(18, reduction == "max" || reduction == "min");
  need(24, type == "Attention" && (has(6) || (has(3) && inputs[3]->dims.back() == 1)));
  need(28, type == "Mod" && has(0) && reference::IsReal(inputs[0]->dtype) && node.Int("fmod", 0) == 0);
  need(28, type == "OneHot" && has(2) && inputs[2]->dtype == DEPUTY_DTYPE_BFLOAT16);
  const std::string mode = node.String("mode", "");
  need(20, type == "GridSample" && (mode == "linear" || mode == "cubic" || (has(0) && inputs[0]->rank() != 4)));
  if (type == "QuantizeLinear" || type == "DequantizeLinear") {
    need(13, has(1) && inputs[1]->rank() != 0);
    need(19, has(1) && inputs[1]->dtype != DEPUTY_DTYPE_FLOAT32);
    need(21, has(2) && reference::BytesOf(inputs[2]->dtype) == 2);
  }
  return first;
}

}  // namespace

const std::vector<OperatorFacts>& AllOperators() {
  static const auto* const all = new std::vector<OperatorFacts>(MakeAll());
  return *all;
}

const OperatorFacts* FactsOf(std::string_view name) {
  for (const OperatorFacts& facts : AllOperators())
    if (facts.name == name) return &facts;
  return nullptr;
}

int32_t NewestDefinition(std::string_view domain) {
  int32_t newest = 0;
  for (const OperatorFacts& facts : AllOperators()) {
    if (facts.domain != domain) continue;
    for (const Definition& definition : facts.definitions) newest = std::max(newest, definition.since);
  }
  return newest;
}

std::vector<deputy_dtype> TypesOf(std::string_view name) {
  const OperatorFacts* facts = FactsOf(name);
  return facts == nullptr ? std::vector<deputy_dtype>() : facts->definitions.back().types;
}

int32_t OldestDefinition(const reference::Node& node, const reference::Inputs& inputs) {
  const OperatorFacts* facts = FactsOf(node.name());
  if (facts == nullptr) return 1;
  size_t at = facts->definitions.size() - 1;
  const int32_t first = FirstWithForm(node, inputs);
  const reference::Tensor* operand = reference::At(inputs, 0);
  while (at > 0 && !facts->definitions[at].changed) {
    const Definition& older = facts->definitions[at - 1];
    if (older.since < first || (operand != nullptr && !Holds(older, operand->dtype))) break;
    if (!HasAttributes(*facts, node, older.since)) break;
    --at;
  }
  return facts->definitions[at].since;
}

std::string NotInDefinition(const reference::Node& node, const reference::Inputs& inputs) {
  const OperatorFacts* facts = FactsOf(node.name());
  if (facts == nullptr) return "";
  const int32_t version = node.since_version;
  const std::string in = node.name() + "-" + std::to_string(version);
  const bool exists = std::any_of(facts->definitions.begin(), facts->definitions.end(),
                                  [&](const Definition& definition) { return definition.since == version; });
  if (!exists) return "there is no " + in;
  for (const auto& [name, value] : node.attributes) {
    const bool has = std::any_of(facts->attributes.begin(), facts->attributes.end(), [&](const AttributeFact& fact) {
      return fact.name == name && version >= fact.since && version < fact.until;
    });
    if (!has) return in + " has no attribute " + name;
  }
  if (inputs.size() > facts->most_inputs || node.output_count > facts->most_outputs)
    return in + " has fewer inputs or outputs";
  if (inputs.size() < facts->least_inputs && version == facts->definitions.back().since) return in + " has more inputs";
  for (size_t i = 0; i < std::min(inputs.size(), facts->inputs.size()); ++i)
    for (const AttributeFact& fact : facts->attributes)
      if (inputs[i] != nullptr && fact.name == facts->inputs[i] && version < fact.until)
        return in + " has " + facts->inputs[i] + " as an attribute, and not as an input";
  return "";
}

}  // namespace deputy::conformance
