#include "graph/definition.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/printable.hpp"
#include "primitive_generated.h"

namespace deputy::host {
namespace {

// Of any operator in the list; the first one is the main one.
constexpr size_t kMostVariables = 16;

struct Operand {
  std::string_view name;
  std::string_view type;  // the variable, or an element type
  size_t variable;        // kMostVariables: bound to none
  DTypeSet types;
};

struct Signature {
  std::vector<Operand> inputs, outputs;
  bool variadic_inputs = false, variadic_outputs = false;  // the last one stands for any number

  const Operand* Find(bool is_input, size_t i) const {
    const std::vector<Operand>& operands = is_input ? inputs : outputs;
    if (i < operands.size()) return &operands[i];
    return (is_input ? variadic_inputs : variadic_outputs) ? &operands.back() : nullptr;
  }
};

DTypeSet NamedType(std::string_view name) {
  for (uint32_t number = 1; number < 32; ++number) {
    const DType dtype = static_cast<DType>(number);
    if ((BitsOf(dtype) != 0 || dtype == DType::kString) && NameOf(dtype) == name) return Bit(dtype);
  }
  return 0;
}

class SignatureReader {
 public:
  explicit SignatureReader(const OperatorInfo& info) : info_(info) {}

  Signature Read() {
    Signature signature;
    signature.inputs = Operands(info_.inputs, signature.variadic_inputs);
    signature.outputs = Operands(info_.outputs, signature.variadic_outputs);
    return signature;
  }

 private:
  std::vector<Operand> Operands(std::string_view text, bool& variadic) {
    std::vector<Operand> operands;
    while (!text.empty()) {
      const size_t end = text.find(", "), blank = text.find(' ');
      Operand operand{text.substr(0, blank), text.substr(blank + 1, end - blank - 1), kMostVariables, 0};
      text.remove_prefix(end + 2);
      variadic = operand.type.ends_with("...");
      if (variadic) operand.type.remove_suffix(3);
      const bool each_its_own = operand.type.starts_with('~');
      if (each_its_own) operand.type.remove_prefix(1);
      operand.types = NamedType(operand.type);
      if (operand.types == 0) {
        const size_t variable = VariableOf(operand.type);
        operand.types = TypesOf(variable);
        if (!each_its_own) operand.variable = variable;
      }
      operands.push_back(operand);
    }
    return operands;
  }

  size_t VariableOf(std::string_view name) {
    const auto known = std::find(variables_.begin(), variables_.end(), name);
    if (known != variables_.end()) return static_cast<size_t>(known - variables_.begin());
    variables_.push_back(name);
    return variables_.size() - 1;
  }

  DTypeSet TypesOf(size_t variable) const {
    for (const TypeVariable& listed : info_.variables)
      if (listed.name == variables_[variable]) return listed.types;
    DTypeSet types = 0;
    for (const OperatorDefinition& definition : info_.definitions) types |= definition.types;
    return types;
  }

  const OperatorInfo& info_;
  std::vector<std::string_view> variables_;
};

const Signature& SignatureOf(OpKind kind) {
  static const auto* const signatures = [] {
    auto* made = new std::vector<Signature>;
    for (const OperatorInfo& info : AllOperators()) made->push_back(SignatureReader(info).Read());
    return made;
  }();
  return (*signatures)[static_cast<size_t>(kind) - 1];
}

std::string NamesOf(DTypeSet types) {
  std::string names;
  for (uint32_t number = 1; number < 32; ++number)
    if ((types >> number & 1) != 0)
      names += (names.empty() ? "" : ", ") + std::string(NameOf(static_cast<DType>(number)));
  return names;
}

// The first operand of each type variable, whose element type the others must have.
struct Bound {
  const Operand* operand = nullptr;
  DType dtype = DType::kUndefined;
};
using Bindings = std::array<Bound, kMostVariables>;

Status CheckOperands(const Primitive& primitive, bool are_inputs, std::span<const ValueType> types, Bindings& bound) {
  const Signature& signature = SignatureOf(primitive.kind());
  const char* const noun = are_inputs ? "input" : "output";
  for (size_t i = 0; i < types.size(); ++i) {
    const DType dtype = types[i].dtype;
    const Operand* const operand = signature.Find(are_inputs, i);
    if (dtype == DType::kUndefined || operand == nullptr) continue;
    Bound unbound;
    Bound& first = operand->variable == kMostVariables ? unbound : bound[operand->variable];
    if (first.operand != nullptr && first.dtype != dtype)
      return Error(StatusCode::kModel, "{} {} ('{}') has element type {}, expected {}, that of '{}' ({})", noun, i,
                   operand->name, NameOf(dtype), NameOf(first.dtype), first.operand->name, operand->type);
    if ((operand->types & Bit(dtype)) == 0)
      return Error(StatusCode::kModel, "{} {} ('{}') has element type {}, expected {}", noun, i, operand->name,
                   NameOf(dtype), NamesOf(operand->types));
    if (first.operand == nullptr) first = {operand, dtype};
  }
  return {};
}

AttributeKind KindOf(schema::AttributeType type) {
  switch (type) {
    case schema::AttributeType_Int: return AttributeKind::kInt;
    case schema::AttributeType_Float: return AttributeKind::kFloat;
    case schema::AttributeType_String: return AttributeKind::kString;
    case schema::AttributeType_Ints: return AttributeKind::kInts;
    case schema::AttributeType_Floats: return AttributeKind::kFloats;
    case schema::AttributeType_Strings: return AttributeKind::kStrings;
    default: return AttributeKind::kTensor;
  }
}

const char* Describe(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kInt: return "an integer";
    case AttributeKind::kFloat: return "a float";
    case AttributeKind::kString: return "a string";
    case AttributeKind::kInts: return "a list of integers";
    case AttributeKind::kFloats: return "a list of floats";
    case AttributeKind::kStrings: return "a list of strings";
    case AttributeKind::kTensor: return "a tensor";
  }
  return "";
}

// Whether the attribute is an empty text that stands for a default.
bool IsEmptyDefault(const Primitive& primitive, const OperatorInfo& info, const AttributeRule& rule) {
  if (rule.aspect != AttributeRule::Aspect::kWords || !primitive.GetString(rule.attribute, "-").empty()) return false;
  const auto attribute = std::find_if(info.attributes.begin(), info.attributes.end(),
                                      [&](const OperatorAttribute& it) { return it.name == rule.attribute; });
  return attribute->default_text && !attribute->default_text->empty();
}

class AttributeChecker {
 public:
  AttributeChecker(const Primitive& primitive, std::span<const ValueType> inputs)
      : primitive_(primitive), info_(*InfoOf(primitive.kind())) {
    // Weights have as many spatial axes as what they are multiplied with.
    const std::vector<Operand>& operands = SignatureOf(primitive.kind()).inputs;
    for (size_t i = 0; i < std::min(inputs.size(), operands.size()) && !rank_; ++i)
      if ((i == 0 || operands[i].name == "W" || operands[i].name == "w") && inputs[i].ranked && inputs[i].is_tensor())
        rank_ = inputs[i].dims.size();
  }

  Status Run() {
    if (primitive_.since_version() < info_.definitions.front().since_version)
      return Error(StatusCode::kModel, "version {} of {} does not exist, the first one is {}",
                   primitive_.since_version(), info_.name, info_.definitions.front().since_version);
    DEPUTY_RETURN_IF_ERROR(CheckKinds());
    DEPUTY_RETURN_IF_ERROR(CheckRequiredAttributes(primitive_));
    for (const AttributeRule& rule : info_.rules) {
      const bool has = primitive_.Has(rule.attribute);
      switch (rule.aspect) {
        case AttributeRule::Aspect::kRequired: break;
        case AttributeRule::Aspect::kValues:
          if (has) DEPUTY_RETURN_IF_ERROR(CheckValues(rule));
          break;
        case AttributeRule::Aspect::kWords:
          if (has) DEPUTY_RETURN_IF_ERROR(CheckWord(rule));
          break;
      }
    }
    return {};
  }

 private:
  // Attributes are read without regard to the version of the node, so that one of another definition must have its
  // kind.
  Status CheckKinds() const {
    const auto* const attributes = primitive_.table()->attributes();
    if (attributes == nullptr) return {};
    for (const schema::Attribute* attribute : *attributes) {
      const std::string_view name(attribute->name()->c_str(), attribute->name()->size());
      const AttributeKind kind = KindOf(attribute->type());
      const OperatorAttribute* wanted = nullptr;
      bool fits = false;
      for (const OperatorAttribute& listed : info_.attributes) {
        if (listed.name != name) continue;
        fits = fits || listed.kind == kind;
        if (wanted == nullptr || listed.IsIn(primitive_.since_version())) wanted = &listed;
      }
      if (wanted != nullptr && !fits)
        return Error(StatusCode::kModel, "attribute '{}' is {}, expected {}", name, Describe(kind),
                     Describe(wanted->kind));
    }
    return {};
  }

  Status CheckValues(const AttributeRule& rule) {
    const int64_t one = primitive_.GetInt(rule.attribute, rule.least);
    const bool is_list = rule.length != ListLength::kScalar;
    const std::span<const int64_t> values =
        is_list ? primitive_.GetInts(rule.attribute) : std::span<const int64_t>(&one, 1);
    if (is_list) DEPUTY_RETURN_IF_ERROR(CheckLength(rule, values.size()));
    for (const int64_t value : values)
      if (value < rule.least || value > rule.most)
        return Error(StatusCode::kModel, "attribute '{}' has the value {}, expected {} to {}", rule.attribute, value,
                     rule.least, rule.most);
    return {};
  }

  Status CheckLength(const AttributeRule& rule, size_t length) {
    size_t expected = length;
    const char* reason = "";
    switch (rule.length) {
      case ListLength::kAnyLength:
      case ListLength::kScalar: return {};
      case ListLength::kTwo: expected = 2; break;
      case ListLength::kThree: expected = 3; break;
      case ListLength::kFour: expected = 4; break;
      case ListLength::kPerAxis:
        if (rank_) expected = *rank_;
        reason = ", one for each axis of the input";
        break;
      case ListLength::kPerSpatialAxis:
        if (!spatial_axes(length)) return {};
        expected = *spatial_axes(length);
        reason = ", one for each spatial axis";
        break;
      case ListLength::kTwicePerSpatialAxis:
        if (length % 2 == 0 && !spatial_axes(length / 2)) return {};
        expected = 2 * spatial_axes(length / 2).value_or(length / 2);
        reason = ", two for each spatial axis";
        break;
    }
    if (length == expected) return {};
    return Error(StatusCode::kModel, "attribute '{}' has {} values, expected {}{}", rule.attribute, length, expected,
                 reason);
  }

  // By the rank of the input or the weights; while that is unknown, by the first list. Nothing where the input has
  // none, which inference refuses.
  std::optional<size_t> spatial_axes(size_t listed) {
    if (rank_) return *rank_ > 2 ? std::optional(*rank_ - 2) : std::nullopt;
    if (!listed_axes_) listed_axes_ = listed;
    return listed_axes_;
  }

  Status CheckWord(const AttributeRule& rule) const {
    const std::string_view word = primitive_.GetString(rule.attribute, "");
    if (IsEmptyDefault(primitive_, info_, rule)) return {};
    std::string_view words = rule.words;
    while (!words.empty()) {
      const size_t end = std::min(words.find(' '), words.size());
      if (words.substr(0, end) == word) return {};
      words.remove_prefix(std::min(end + 1, words.size()));
    }
    return Error(StatusCode::kModel, "attribute '{}' is '{}', expected one of: {}", rule.attribute,
                 Printable(word, 100), rule.words);
  }

  const Primitive& primitive_;
  const OperatorInfo& info_;
  std::optional<size_t> rank_;  // of the first input, or of the weights
  std::optional<size_t> listed_axes_;
};

}  // namespace

Status CheckAttributes(const Primitive& primitive, std::span<const ValueType> inputs) {
  if (primitive.kind() == OpKind::kOther) return {};
  return AttributeChecker(primitive, inputs).Run();
}

Status CheckRequiredAttributes(const Primitive& primitive) {
  if (primitive.kind() == OpKind::kOther) return {};
  const OperatorInfo& info = *InfoOf(primitive.kind());
  const int32_t version = primitive.since_version();
  for (const AttributeRule& rule : info.rules) {
    if (rule.aspect != AttributeRule::Aspect::kRequired || version < rule.since_version) continue;
    const bool exists = std::any_of(info.attributes.begin(), info.attributes.end(), [&](const OperatorAttribute& it) {
      return it.name == rule.attribute && it.IsIn(version);
    });
    if (exists && !primitive.Has(rule.attribute))
      return Error(StatusCode::kModel, "attribute '{}' is missing", rule.attribute);
  }
  return {};
}

std::optional<Primitive> WithoutEmptyWords(const Primitive& primitive) {
  if (primitive.kind() == OpKind::kOther) return std::nullopt;
  const OperatorInfo& info = *InfoOf(primitive.kind());
  std::optional<PrimitiveBuilder> builder;
  for (const AttributeRule& rule : info.rules) {
    if (!IsEmptyDefault(primitive, info, rule)) continue;
    if (!builder) builder.emplace(primitive);
    builder->Remove(rule.attribute);
  }
  return builder ? std::optional(builder->Finish()) : std::nullopt;
}

Status CheckElementTypes(const Primitive& primitive, std::span<const ValueType> inputs,
                         std::span<const ValueType> outputs) {
  if (primitive.kind() == OpKind::kOther) return {};
  Bindings bound;
  DEPUTY_RETURN_IF_ERROR(CheckOperands(primitive, true, inputs, bound));
  return CheckOperands(primitive, false, outputs, bound);
}

}  // namespace deputy::host
