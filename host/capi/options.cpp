#include "capi/options.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "base/status.hpp"
#include "deputy/printable.hpp"

namespace deputy::host::capi {

using Kind = JsonValue::Kind;

namespace {

Status Wrong(const OptionValue& value, const char* wanted) {
  return Error(StatusCode::kInvalidArgument, "{}: {} is expected", value.path(), wanted).At("options");
}

}  // namespace

Result<OptionValue> ParseOptions(const char* options) {
  DEPUTY_ASSIGN_OR_RETURN(JsonValue parsed, ParseJson(options));
  return OptionValue(std::make_shared<const JsonValue>(std::move(parsed)), "");
}

Status OptionValue::AsText(std::string& text) const {
  if (json_->kind != Kind::kText) return Wrong(*this, "a text in quotes");
  text = json_->text;
  return {};
}

Status OptionValue::AsBool(bool& value) const {
  if (json_->kind != Kind::kBool) return Wrong(*this, "true or false");
  value = json_->text == "true";
  return {};
}

Status OptionValue::AsInteger(int64_t least, int64_t most, int64_t& value) const {
  const std::string& text = json_->text;
  int64_t read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (json_->kind != Kind::kNumber || error != std::errc() || end != text.data() + text.size())
    return Wrong(*this, "an integer");
  if (read < least || read > most)
    return Error(StatusCode::kInvalidArgument, "{}: {} is not from {} to {}", path_, read, least, most).At("options");
  value = read;
  return {};
}

Status OptionValue::AsNumber(double& value) const {
  using Limits = std::numeric_limits<double>;
  const std::string& text = json_->text;
  double read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (json_->kind != Kind::kNumber) return Wrong(*this, "a number");
  if (text == "NaN")
    read = Limits::quiet_NaN();
  else if (text.ends_with("Infinity"))
    read = text[0] == '-' ? -Limits::infinity() : Limits::infinity();
  else if (error != std::errc() || end != text.data() + text.size())
    return Wrong(*this, "a number");
  value = read;
  return {};
}

Result<std::vector<OptionValue>> OptionValue::AsList() const {
  if (json_->kind != Kind::kList) return Wrong(*this, "a list");
  std::vector<OptionValue> items;
  for (const JsonValue& item : json_->items)
    items.emplace_back(std::shared_ptr<const JsonValue>(json_, &item),
                       path_ + "[" + std::to_string(items.size()) + "]");
  return items;
}

Result<std::vector<std::pair<std::string, OptionValue>>> OptionValue::AsMap() const {
  if (json_->kind != Kind::kMap)
    return Error(StatusCode::kInvalidArgument, "{}a map in braces is expected", path_.empty() ? "" : path_ + ": ")
        .At("options");
  std::vector<std::pair<std::string, OptionValue>> items;
  for (size_t i = 0; i < json_->items.size(); ++i) {
    const std::string& name = json_->names[i];
    if (std::any_of(items.begin(), items.end(), [&name](const auto& known) { return known.first == name; }))
      return Error(StatusCode::kInvalidArgument, "'{}' is given twice", deputy::Printable(name)).At("options");
    items.emplace_back(name, OptionValue(std::shared_ptr<const JsonValue>(json_, &json_->items[i]),
                                         (path_.empty() ? "" : path_ + ".") + deputy::Printable(name)));
  }
  return items;
}

Status Read(const OptionValue& value, DType& into) {
  std::string text;
  DEPUTY_RETURN_IF_ERROR(value.AsText(text));
  const std::optional<DType> known = deputy::fields::FindNamed<DType>(text);
  if (!known) return Wrong(value, "the name of an element type, as float32,");
  into = *known;
  return {};
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
