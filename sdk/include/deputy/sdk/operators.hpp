// One view per operator, generated from schema/operators.inc: op::Conv(primitive).strides(), with the default of the
// node's definition where the node has no such attribute. Also the newest definition of each operator that this SDK
// knows, the version rule, and the definitions by which nodes may mean something else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/sdk/graph.hpp"
#include "schema/operator_name.hpp"

namespace deputy::sdk {
namespace op {

// The defaults that an attribute had before a definition gave it another one. The list of operators has the newest.
template <class T>
struct FormerDefault {
  std::string_view type, attribute;
  int32_t until;  // the first definition with another default
  T value;
};
inline constexpr FormerDefault<int64_t> kFormerInts[] = {
    {"Hardmax", "axis", 13, 1}, {"LogSoftmax", "axis", 13, 1}, {"Softmax", "axis", 13, 1}};
inline constexpr FormerDefault<float> kFormerFloats[] = {{"Selu", "alpha", 6, 1.6732f}, {"Selu", "gamma", 6, 1.0507f}};
inline constexpr FormerDefault<std::string_view> kFormerStrings[] = {{"GridSample", "mode", 20, "bilinear"}};

template <class T, size_t kCount>
T DefaultIn(const FormerDefault<T> (&former)[kCount], const schema::Primitive* primitive, std::string_view type,
            std::string_view attribute, T newest) {
  if (primitive == nullptr) return newest;
  for (const FormerDefault<T>& one : former)
    if (one.attribute == attribute && one.type == type && primitive->since_version() < one.until &&
        primitive->since_version() > 0)
      return one.value;
  return newest;
}

// The base of all views. The primitive must outlive the view; NULL reads as "no attributes".
class View {
 public:
  explicit View(const schema::Primitive* primitive) : primitive_(primitive) {}
  bool has(const char* attribute) const { return HasAttribute(primitive(), attribute); }

 protected:
  const schema::Primitive* primitive() const { return static_cast<const schema::Primitive*>(primitive_); }

 private:
  const void* primitive_;  // untyped: a field of a hidden type would make g++ warn about every class that holds it
};

#define DEPUTY_READ_Int(attribute, ...)                                                           \
  int64_t attribute() const {                                                                     \
    return ReadInt(primitive(), #attribute,                                                       \
                   DefaultIn<int64_t>(kFormerInts, primitive(), kType, #attribute, __VA_ARGS__)); \
  }
#define DEPUTY_READ_Float(attribute, ...)                                                           \
  float attribute() const {                                                                         \
    return ReadFloat(primitive(), #attribute,                                                       \
                     DefaultIn<float>(kFormerFloats, primitive(), kType, #attribute, __VA_ARGS__)); \
  }
#define DEPUTY_READ_String(attribute, ...)                                                                       \
  std::string_view attribute() const {                                                                           \
    return ReadString(primitive(), #attribute,                                                                   \
                      DefaultIn<std::string_view>(kFormerStrings, primitive(), kType, #attribute, __VA_ARGS__)); \
  }
#define DEPUTY_READ_Ints(attribute, ...) \
  std::vector<int64_t> attribute() const { return ReadInts(primitive(), #attribute, __VA_ARGS__); }
#define DEPUTY_READ_Floats(attribute, ...) \
  std::vector<float> attribute() const { return ReadFloats(primitive(), #attribute, __VA_ARGS__); }
#define DEPUTY_READ_Strings(attribute, ...) \
  std::vector<std::string_view> attribute() const { return ReadStrings(primitive(), #attribute, __VA_ARGS__); }
#define DEPUTY_READ_Tensor(attribute, ...) \
  TensorAttribute attribute() const { return ReadTensor(primitive(), #attribute); }

#define DEPUTY_OPERATOR_BEGIN(name, operator_domain, min_inputs, max_inputs, min_outputs, max_outputs) \
  class name : public View {                                                                           \
   public:                                                                                             \
    using View::View;                                                                                  \
    static constexpr std::string_view kType = schema::OperatorType(#name), kDomain = operator_domain;
#define DEPUTY_ATTRIBUTE(name, kind, attribute, since, until, ...) DEPUTY_READ_##kind(attribute, __VA_ARGS__)
#define DEPUTY_OPERATOR_END(name) \
  }                               \
  ;
#include "schema/operators.inc"

#undef DEPUTY_READ_Int
#undef DEPUTY_READ_Float
#undef DEPUTY_READ_String
#undef DEPUTY_READ_Ints
#undef DEPUTY_READ_Floats
#undef DEPUTY_READ_Strings
#undef DEPUTY_READ_Tensor

}  // namespace op

// One row per operator, in alphabetical order.
struct OperatorRow {
  std::string_view type, domain;
  int32_t newest_definition;
};

// Each macro is a piece of one braced row.
// clang-format off
inline constexpr OperatorRow kOperatorRows[] = {
#define DEPUTY_OPERATOR_BEGIN(name, domain, min_inputs, max_inputs, min_outputs, max_outputs) \
  {schema::OperatorType(#name), domain, std::max({0
#define DEPUTY_DEFINITION(name, since, change, types) , since
#define DEPUTY_OPERATOR_END(name) })},
#include "schema/operators.inc"
};
// clang-format on

// The newest definition that this SDK knows; 0 for an operator that it does not know.
constexpr int32_t NewestDefinition(std::string_view domain, std::string_view type) {
  for (const OperatorRow& row : kOperatorRows)
    if (row.type == type && row.domain == domain) return row.newest_definition;
  return 0;
}

// The version rule: a delegate is never given a node of a definition that is newer than its SDK, because it cannot know
// the changes. Operators that the SDK does not list (other domains) are a matter of the delegate and its users.
inline bool DefinitionTooNew(const NodeView& node) {
  const int32_t newest = NewestDefinition(node.domain(), node.op_type());
  return newest != 0 && node.since_version() > newest;
}

// "Conv-30 is newer than Conv-22, the newest that this delegate was built for"
inline std::string TooNewText(const NodeView& node) {
  const std::string type(node.op_type());
  return type + "-" + std::to_string(node.since_version()) + " is newer than " + type + "-" +
         std::to_string(NewestDefinition(node.domain(), node.op_type())) +
         ", the newest that this delegate was built for";
}

namespace detail {

enum Change { kChanged, kExtended };
struct DefinitionRow {
  std::string_view type;  // of an operator that is not ONNX's own: behind its domain, "Microsoft_Attention"
  int32_t since;
  Change change;
};
inline constexpr DefinitionRow kDefinitionRows[] = {
#define DEPUTY_DEFINITION(name, since, change, types) {#name, since, change},
#include "schema/operators.inc"
};

}  // namespace detail

// The definitions of an ONNX operator that are newer than the node's and in ONNX's operator set `version`, and by which
// nodes may mean something else than by the one before: a model has one version for all of its nodes. None for
// operators of other domains.
inline std::vector<int32_t> ChangedDefinitions(const NodeView& node, int32_t version) {
  std::vector<int32_t> changed;
  if (!node.domain().empty() || node.since_version() >= version) return changed;
  for (const detail::DefinitionRow& row : detail::kDefinitionRows)
    if (row.change == detail::kChanged && row.since > node.since_version() && row.since <= version &&
        row.type == node.op_type())
      changed.push_back(row.since);
  return changed;
}

}  // namespace deputy::sdk
