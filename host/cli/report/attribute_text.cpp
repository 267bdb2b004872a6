#include "cli/report/attribute_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/report/shape_text.hpp"
#include "deputy/element.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kElementsShown = 24;
constexpr size_t kBytesShown = 400;
constexpr int64_t kReadConstant = 8;  // elements

// `text_of(i)` is the text of an element.
template <class TextOf>
std::string ListText(size_t count, const TextOf& text_of) {
  std::string text;
  for (size_t i = 0; i < std::min(count, kElementsShown); ++i) {
    if (i != 0) text += ", ";
    text += text_of(i);
  }
  if (count > kElementsShown) text += fmt::format(", ... ({} in all)", count);
  return text;
}

std::string ElementsText(const Tensor& tensor) {
  if (!IsNumeric(tensor.dtype())) return "";
  return ListText(static_cast<size_t>(tensor.element_count()), [&](size_t i) {
    const double value = ElementAt(tensor, static_cast<int64_t>(i));
    return tensor.dtype() == DType::kFloat64 ? fmt::format("{}", value) : fmt::format("{:.9g}", value);
  });
}

std::string TensorText(const Tensor& tensor) {
  const std::string elements = ElementsText(tensor);
  return elements.empty() ? TypeText(tensor) : TypeText(tensor) + ": " + elements;
}

struct TextOfValue {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const Tensor& value) const { return TensorText(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    return ListText(values.size(), [&](size_t i) { return values[i]; });
  }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return ListText(values.size(), [&](size_t i) { return fmt::format("{}", values[i]); });
  }
};

}  // namespace

std::string AttributeText(const AttributeValue& value) {
  std::string text = std::visit(TextOfValue(), value);
  if (text.size() > kBytesShown) text = fmt::format("{}... ({} bytes)", text.substr(0, kBytesShown), text.size());
  return text;
}

std::string ConstantText(const Tensor& constant) {
  return constant.element_count() <= kReadConstant ? TensorText(constant) : TypeText(constant);
}

}  // namespace deputy::cli
