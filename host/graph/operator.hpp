// The operators that Deputy supports, read from the one list (sdk/schema/operators.inc).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "deputy/dtype.hpp"

namespace deputy::host {

// One enumerator per operator; kOther is any other one, which may still run on a delegate that supports it.
enum class OpKind : uint16_t {
  kOther,
#define DEPUTY_OPERATOR_BEGIN(name, domain, min_inputs, max_inputs, min_outputs, max_outputs) k##name,
#include "schema/operators.inc"
};

inline constexpr uint32_t kVariadic = 0xffffffffu;

// A set of element types as bits, one per DType number.
using DTypeSet = uint32_t;
constexpr DTypeSet Bit(DType dtype) { return 1u << static_cast<uint32_t>(dtype); }

struct OperatorDefinition {
  int32_t since_version;
  bool changed;    // its meaning differs from the previous definition
  DTypeSet types;  // of the main type variable
};

enum class AttributeKind : uint8_t { kInt, kFloat, kString, kInts, kFloats, kStrings, kTensor };

struct OperatorAttribute {
  std::string_view name;
  AttributeKind kind;
  int32_t since_version;
  int32_t until_version;  // first definition without it; INT32_MAX while it exists
  // The default, for attributes that are a number or a word.
  std::optional<int64_t> default_int;
  std::optional<std::string_view> default_text;

  bool IsIn(int64_t version) const {
    return version >= since_version && (version < until_version || until_version == INT32_MAX);
  }
};

// A type variable of the operands, other than the main one.
struct TypeVariable {
  std::string_view name;
  DTypeSet types;
};

// How many values an attribute of integers has.
enum class ListLength : uint8_t {
  kAnyLength,
  kScalar,  // no list
  kTwo,
  kThree,
  kFour,
  kPerAxis,         // of the first input
  kPerSpatialAxis,  // of the first input: all but its first two axes
  kTwicePerSpatialAxis,
};

// What the definitions say of the values of an attribute; one aspect each.
struct AttributeRule {
  enum class Aspect : uint8_t { kRequired, kValues, kWords };
  std::string_view attribute;
  Aspect aspect;
  int32_t since_version = 0;  // kRequired: the first definition that requires it
  ListLength length = ListLength::kAnyLength;
  int64_t least = 0, most = 0;  // of each value
  std::string_view words = {};  // separated by blanks
};

// How many operands a definition has.
struct OperandCounts {
  int32_t since_version;
  uint32_t min_inputs, max_inputs, max_outputs;
};

struct OperatorInfo {
  std::string_view name;
  std::string_view domain;
  uint32_t min_inputs, max_inputs, min_outputs, max_outputs;  // the least and the most of all definitions
  std::span<const OperatorDefinition> definitions;            // oldest first
  std::span<const OperandCounts> counts;                      // of definitions that have fewer, oldest first
  std::string_view inputs, outputs;                           // operands as in the list: "X T, W T, "
  std::span<const TypeVariable> variables;
  std::span<const OperatorAttribute> attributes;
  std::span<const AttributeRule> rules;

  int32_t newest() const { return definitions.back().since_version; }
  // The definition that an opset has; null when the operator is newer.
  const OperatorDefinition* DefinitionAt(int32_t opset) const;
  OperandCounts CountsAt(int32_t opset) const;
};

// kOther has no info: null.
const OperatorInfo* InfoOf(OpKind kind);
OpKind FindOperator(std::string_view domain, std::string_view op_type);
// The known operator whose name is nearest to a misspelled or missing one; empty when none is near.
std::string_view NearestOperator(std::string_view op_type);
std::span<const OperatorInfo> AllOperators();
// The newest opset of a domain in which one of its operators was defined anew: the list has all definitions up to it.
// 0 for a domain without operators in the list.
int32_t NewestOpset(std::string_view domain);

// Computes every element from the element at the same place of the first input; the rest are scalars or attributes.
constexpr bool IsUnary(OpKind kind) {
  switch (kind) {
    case OpKind::kAbs:
    case OpKind::kCeil:
    case OpKind::kCelu:
    case OpKind::kClip:
    case OpKind::kElu:
    case OpKind::kErf:
    case OpKind::kExp:
    case OpKind::kFloor:
    case OpKind::kHardSigmoid:
    case OpKind::kHardSwish:
    case OpKind::kLeakyRelu:
    case OpKind::kLog:
    case OpKind::kMish:
    case OpKind::kNeg:
    case OpKind::kNot:
    case OpKind::kReciprocal:
    case OpKind::kRelu:
    case OpKind::kRound:
    case OpKind::kSelu:
    case OpKind::kSigmoid:
    case OpKind::kSign:
    case OpKind::kSoftplus:
    case OpKind::kSoftsign:
    case OpKind::kSqrt:
    case OpKind::kSwish:
    case OpKind::kTanh:
    case OpKind::kThresholdedRelu: return true;
    default: return false;
  }
}

// Whether it has another result each time: neither folded into constants nor merged with equal nodes.
constexpr bool DrawsNumbers(OpKind kind) {
  switch (kind) {
    case OpKind::kBernoulli:
    case OpKind::kMultinomial:
    case OpKind::kRandomNormal:
    case OpKind::kRandomNormalLike:
    case OpKind::kRandomUniform:
    case OpKind::kRandomUniformLike: return true;
    default: return false;
  }
}

}  // namespace deputy::host
