#include <array>

#include "base/printable.hpp"
#include "graph/graph.hpp"

namespace deputy::host {
namespace {

// Two of ONNX's names differ from Deputy's.
std::string_view ElementName(DType dtype) {
  if (dtype == DType::kFloat32) return "float";
  if (dtype == DType::kFloat64) return "double";
  return NameOf(dtype);
}

constexpr int32_t kMostDTypes = 64;

// Strips "name(" from the front and ")" from the back.
bool TakeAround(std::string_view& text, std::string_view name) {
  if (text.size() < name.size() + 2 || text.substr(0, name.size()) != name || text[name.size()] != '(' ||
      text.back() != ')')
    return false;
  text = text.substr(name.size() + 1, text.size() - name.size() - 2);
  return true;
}

}  // namespace

std::string NotationOf(const ValueType& type) {
  std::string text = "tensor(" + std::string(ElementName(type.dtype)) + ")";
  if (HoldsSequence(type.kind)) text = "seq(" + text + ")";
  if (IsOptional(type.kind)) text = "optional(" + text + ")";
  return text;
}

const char* NameOfUnsupportedType(int64_t number) {
  switch (number) {
    case 14: return "complex64";
    case 15: return "complex128";
    case 27: return "float6e2m3";
    case 28: return "float6e3m2";
    default: return nullptr;
  }
}

Result<ValueType> ParseNotation(std::string_view text) {
  const std::string_view whole = text;
  const bool optional = TakeAround(text, "optional"), sequence = TakeAround(text, "seq");
  if (TakeAround(text, "tensor"))
    for (int32_t number = 1; number < kMostDTypes; ++number) {
      const auto dtype = static_cast<DType>(number);
      if ((BitsOf(dtype) == 0 && dtype != DType::kString) || ElementName(dtype) != text) continue;
      ValueType type{dtype, false, {}};
      if (optional) type.kind = sequence ? ValueKind::kOptionalSequence : ValueKind::kOptionalTensor;
      if (!optional && sequence) type.kind = ValueKind::kSequence;
      return type;
    }
  return Error(StatusCode::kModel, "'{}' is not a valid type", Printable(std::string(whole)));
}

}  // namespace deputy::host
