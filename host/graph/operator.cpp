#include "graph/operator.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/nearest.hpp"
#include "schema/operator_name.hpp"

namespace deputy::host {
namespace {

constexpr DTypeSet kU8 = Bit(DType::kUint8), kU16 = Bit(DType::kUint16), kU32 = Bit(DType::kUint32),
                   kU64 = Bit(DType::kUint64), kI8 = Bit(DType::kInt8), kI16 = Bit(DType::kInt16),
                   kI32 = Bit(DType::kInt32), kI64 = Bit(DType::kInt64), kF16 = Bit(DType::kFloat16),
                   kF32 = Bit(DType::kFloat32), kF64 = Bit(DType::kFloat64), kBf16 = Bit(DType::kBFloat16),
                   kBool = Bit(DType::kBool), kStr = Bit(DType::kString);
constexpr DTypeSet kFloats = kF16 | kF32 | kF64, kFloatsBf16 = kFloats | kBf16;
constexpr DTypeSet kWide = kFloats | kU32 | kU64 | kI32 | kI64, kWideBf16 = kWide | kBf16;
constexpr DTypeSet kNumeric = kWide | kU8 | kU16 | kI8 | kI16, kNumericBf16 = kNumeric | kBf16;
constexpr DTypeSet kAnyButBf16 = kNumeric | kBool | kStr, kAnyTensor = kAnyButBf16 | kBf16;
// The storage types that an opset added.
constexpr DTypeSet kSmall19 =
    Bit(DType::kFloat8E4M3FN) | Bit(DType::kFloat8E4M3FNUZ) | Bit(DType::kFloat8E5M2) | Bit(DType::kFloat8E5M2FNUZ);
constexpr DTypeSet kInt4s = Bit(DType::kUint4) | Bit(DType::kInt4);
constexpr DTypeSet kSmall21 = kSmall19 | kInt4s;
constexpr DTypeSet kSmall23 = kSmall21 | Bit(DType::kFloat4E2M1), kSmall24 = kSmall23 | Bit(DType::kFloat8E8M0);
constexpr DTypeSet kFloat8E4M3FN = Bit(DType::kFloat8E4M3FN), kFloat8E8M0 = Bit(DType::kFloat8E8M0),
                   kInt2s = Bit(DType::kUint2) | Bit(DType::kInt2);
constexpr DTypeSet kSmall25 = kSmall24 | kInt2s;
constexpr bool kChanged = true, kExtended = false;
constexpr int32_t kStillThere = INT32_MAX;
constexpr int64_t kMaxInt32 = INT32_MAX, kMaxInt64 = INT64_MAX;

using Defaults = std::pair<std::optional<int64_t>, std::optional<std::string_view>>;
constexpr Defaults DefaultInt(int64_t value) { return {value, std::nullopt}; }
constexpr Defaults DefaultFloat(float) { return {}; }
constexpr Defaults DefaultString(std::string_view value) { return {std::nullopt, value}; }
constexpr Defaults DefaultInts(std::initializer_list<int64_t>) { return {}; }
constexpr Defaults DefaultFloats(std::initializer_list<float>) { return {}; }
constexpr Defaults DefaultStrings(std::initializer_list<std::string_view>) { return {}; }
constexpr Defaults DefaultTensor(std::nullptr_t) { return {}; }

constexpr OperatorAttribute Attribute(std::string_view name, AttributeKind kind, int32_t since, int32_t until,
                                      const Defaults& defaults) {
  return {name, kind, since, until, defaults.first, defaults.second};
}

// The list expands to code through the macros.
// clang-format off
// Arrays per operator; a sentinel lets those without elements compile.
#define DEPUTY_OPERATOR_BEGIN(name, ...) constexpr OperatorDefinition k##name##Definitions[] = {
#define DEPUTY_DEFINITION(name, since, change, types) {since, change, types},
#define DEPUTY_OPERATOR_END(name) \
  }                               \
  ;
#include "schema/operators.inc"

#define DEPUTY_OPERATOR_BEGIN(name, ...) constexpr OperandCounts k##name##Counts[] = {
#define DEPUTY_COUNTS(name, since, min_inputs, max_inputs, max_outputs) {since, min_inputs, max_inputs, max_outputs},
#define DEPUTY_OPERATOR_END(name) \
  {0, 0, 0, 0}                    \
  }                               \
  ;
#include "schema/operators.inc"

#define DEPUTY_OPERATOR_BEGIN(name, ...) constexpr OperatorAttribute k##name##Attributes[] = {
#define DEPUTY_ATTRIBUTE(name, kind, attribute, since, until, ...) \
  Attribute(#attribute, AttributeKind::k##kind, since, until, Default##kind(__VA_ARGS__)),
#define DEPUTY_FORMER_ATTRIBUTE DEPUTY_ATTRIBUTE
#define DEPUTY_OPERATOR_END(name)            \
  {"", AttributeKind::kInt, 0, 0, {}, {}}    \
  }                                          \
  ;
#include "schema/operators.inc"

#define DEPUTY_OPERATOR_BEGIN(name, ...) constexpr std::string_view k##name##Inputs = ""
#define DEPUTY_INPUTS(name, operands) operands ", "
#define DEPUTY_OPERATOR_END(name) ;
#include "schema/operators.inc"

#define DEPUTY_OPERATOR_BEGIN(name, ...) constexpr std::string_view k##name##Outputs = ""
#define DEPUTY_OUTPUTS(name, operands) operands ", "
#define DEPUTY_OPERATOR_END(name) ;
#include "schema/operators.inc"

#define DEPUTY_OPERATOR_BEGIN(name, ...) constexpr TypeVariable k##name##Variables[] = {
#define DEPUTY_TYPES(name, variable, types) {#variable, types},
#define DEPUTY_OPERATOR_END(name) \
  {"", 0}                         \
  }                               \
  ;
#include "schema/operators.inc"

#define DEPUTY_OPERATOR_BEGIN(name, ...) constexpr AttributeRule k##name##Rules[] = {
#define DEPUTY_REQUIRED(name, attribute, since) {#attribute, AttributeRule::Aspect::kRequired, since},
#define DEPUTY_VALUES(name, attribute, length, least, most) \
  {#attribute, AttributeRule::Aspect::kValues, 0, ListLength::length, least, most},
#define DEPUTY_WORDS(name, attribute, words) \
  {#attribute, AttributeRule::Aspect::kWords, 0, ListLength::kScalar, 0, 0, words},
#define DEPUTY_OPERATOR_END(name)         \
  {"", AttributeRule::Aspect::kRequired}  \
  }                                       \
  ;
#include "schema/operators.inc"

// Without the sentinel.
template <class T, size_t kCount>
constexpr std::span<const T> Listed(const T (&rows)[kCount]) {
  return std::span<const T>(rows, kCount - 1);
}

constexpr OperatorInfo kOperators[] = {
#define DEPUTY_OPERATOR_BEGIN(name, domain, min_inputs, max_inputs, min_outputs, max_outputs)                \
  {schema::OperatorType(#name), domain, min_inputs, max_inputs, min_outputs, max_outputs,                    \
   std::span(k##name##Definitions), Listed(k##name##Counts), k##name##Inputs, k##name##Outputs,               \
   Listed(k##name##Variables), Listed(k##name##Attributes), Listed(k##name##Rules)},
#include "schema/operators.inc"
};
// clang-format on

}  // namespace

const OperatorDefinition* OperatorInfo::DefinitionAt(int32_t opset) const {
  const OperatorDefinition* found = nullptr;
  for (const OperatorDefinition& definition : definitions)
    if (definition.since_version <= opset) found = &definition;
  return found;
}

OperandCounts OperatorInfo::CountsAt(int32_t opset) const {
  OperandCounts found = {0, min_inputs, max_inputs, max_outputs};
  for (const OperandCounts& of_definition : counts)
    if (of_definition.since_version <= opset) found = of_definition;
  return found;
}

const OperatorInfo* InfoOf(OpKind kind) {
  return kind == OpKind::kOther ? nullptr : &kOperators[static_cast<size_t>(kind) - 1];
}

OpKind FindOperator(std::string_view domain, std::string_view op_type) {
  static const auto* index = [] {
    auto* made = new std::unordered_multimap<std::string_view, OpKind>;
    for (size_t i = 0; i < std::size(kOperators); ++i) made->emplace(kOperators[i].name, static_cast<OpKind>(i + 1));
    return made;
  }();
  if (domain == "ai.onnx") domain = "";
  const auto [first, last] = index->equal_range(op_type);
  for (auto found = first; found != last; ++found)
    if (InfoOf(found->second)->domain == domain) return found->second;
  return OpKind::kOther;
}

std::string_view NearestOperator(std::string_view op_type) {
  std::vector<std::string> names;
  for (const OperatorInfo& info : kOperators) names.emplace_back(info.name);
  const std::string nearest = NearestMatch(op_type, names);
  const auto found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                  [&](const OperatorInfo& info) { return info.name == nearest; });
  return found == std::end(kOperators) ? std::string_view() : found->name;
}

std::span<const OperatorInfo> AllOperators() { return kOperators; }

int32_t NewestOpset(std::string_view domain) {
  static const auto* const newest = [] {
    auto* made = new std::unordered_map<std::string_view, int32_t>;
    for (const OperatorInfo& info : kOperators) {
      int32_t& known = (*made)[info.domain];
      known = std::max(known, info.newest());
    }
    return made;
  }();
  const auto found = newest->find(domain);
  return found == newest->end() ? 0 : found->second;
}

}  // namespace deputy::host
