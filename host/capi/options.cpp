#include "capi/options.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/status.hpp"
#include "deputy/printable.hpp"

namespace deputy::host::capi {

struct OptionValue::Node {
  YAML::Node yaml;
};

namespace {

// JSON's texts have quotes, its numbers and words have none.
bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!"; }

Status Wrong(const OptionValue& value, const char* wanted) {
  return Error(StatusCode::kInvalidArgument, "{}: {} is expected", value.path(), wanted).At("options");
}

}  // namespace

Result<OptionValue> ParseOptions(const char* options) {
  // JSON is YAML; tabs between tokens are the exception.
  std::string text(options);
  std::replace(text.begin(), text.end(), '\t', ' ');
  try {
    return OptionValue(std::make_shared<const OptionValue::Node>(OptionValue::Node{YAML::Load(text)}), "");
  } catch (const YAML::Exception& exception) {
    return Error(StatusCode::kInvalidArgument, "is not valid JSON: line {}, column {}: {}", exception.mark.line + 1,
                 exception.mark.column + 1, exception.msg)
        .At("options");
  }
}

bool OptionValue::is_null() const { return node_->yaml.IsNull(); }

Status OptionValue::AsText(std::string& text) const {
  if (!node_->yaml.IsScalar() || !IsQuoted(node_->yaml)) return Wrong(*this, "a text in quotes");
  text = node_->yaml.Scalar();
  return {};
}

Status OptionValue::AsBool(bool& value) const {
  const bool plain = node_->yaml.IsScalar() && !IsQuoted(node_->yaml);
  if (!plain || (node_->yaml.Scalar() != "true" && node_->yaml.Scalar() != "false"))
    return Wrong(*this, "true or false");
  value = node_->yaml.Scalar() == "true";
  return {};
}

Status OptionValue::AsInteger(int64_t least, int64_t most, int64_t& value) const {
  int64_t read = 0;
  const std::string text = node_->yaml.IsScalar() && !IsQuoted(node_->yaml) ? node_->yaml.Scalar() : "";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return Wrong(*this, "an integer");
  if (read < least || read > most)
    return Error(StatusCode::kInvalidArgument, "{}: {} is not from {} to {}", path_, read, least, most).At("options");
  value = read;
  return {};
}

Status OptionValue::AsNumber(double& value) const {
  const std::string text = node_->yaml.IsScalar() && !IsQuoted(node_->yaml) ? node_->yaml.Scalar() : "";
  double read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(read))
    return Wrong(*this, "a number");
  value = read;
  return {};
}

Result<std::vector<OptionValue>> OptionValue::AsList() const {
  if (!node_->yaml.IsSequence()) return Wrong(*this, "a list");
  std::vector<OptionValue> items;
  for (const YAML::Node& item : node_->yaml)
    items.emplace_back(std::make_shared<const Node>(Node{item}), path_ + "[" + std::to_string(items.size()) + "]");
  return items;
}

Result<std::vector<std::pair<std::string, OptionValue>>> OptionValue::AsMap() const {
  if (!node_->yaml.IsMap())
    return Error(StatusCode::kInvalidArgument, "{}a map in braces is expected", path_.empty() ? "" : path_ + ": ")
        .At("options");
  std::vector<std::pair<std::string, OptionValue>> items;
  for (const auto& entry : node_->yaml) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::any_of(items.begin(), items.end(), [&name](const auto& known) { return known.first == name; }))
      return Error(StatusCode::kInvalidArgument, "'{}' is given twice", deputy::Printable(name)).At("options");
    items.emplace_back(name,
                       OptionValue(std::make_shared<const Node>(Node{entry.second}),
                                   path_.empty() ? deputy::Printable(name) : path_ + "." + deputy::Printable(name)));
  }
  return items;
}

Status Read(const OptionValue& value, DType& into) {
  std::string text;
  DEPUTY_RETURN_IF_ERROR(value.AsText(text));
  for (int32_t dtype = 1; dtype <= static_cast<int32_t>(DType::kInt2); ++dtype)
    if (text == NameOf(static_cast<DType>(dtype))) {
      into = static_cast<DType>(dtype);
      return {};
    }
  if (text.empty()) {
    into = DType::kUndefined;
    return {};
  }
  return Wrong(value, "the name of an element type, as float32,");
}

const OptionValue* MapReader::Find(const char* name) {
  names_.emplace_back(name);
  for (const auto& [key, value] : map_)
    if (key == name) return &value;
  return nullptr;
}

Status MapReader::Finish() && {
  DEPUTY_RETURN_IF_ERROR(std::move(status_));
  for (const auto& [key, value] : map_)
    if (std::find(names_.begin(), names_.end(), key) == names_.end())
      return Error(StatusCode::kInvalidArgument, "unknown key '{}'{}", value.path(), DidYouMean(key, names_))
          .At("options");
  return {};
}

}  // namespace deputy::host::capi
