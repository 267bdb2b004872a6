// Holds YAML against a JSON Schema: as much of draft 2020-12 as Deputy's own schema uses. A keyword that it does not
// know is a mistake of the schema, or a reason to teach it that keyword.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "config/reader.hpp"
#include "config/scalar.hpp"

namespace deputy::host::testing {

using Json = nlohmann::ordered_json;

// As a reader of YAML 1.2 hands it over.
inline Json ToJson(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kMap: {
      Json map = Json::object();
      for (const YamlEntry& entry : node.entries) map[entry.key] = ToJson(entry.value);
      return map;
    }
    case YamlNode::Kind::kList: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(ToJson(item));
      return list;
    }
    case YamlNode::Kind::kScalar:
      if (node.quoted) return node.text;
      if (const auto integer = ParseInteger(node.text); integer.ok()) return *integer;
      if (const auto real = ParseReal(node.text); real.ok()) return *real;
      if (const auto flag = ParseBool(node.text); flag.ok()) return *flag;
      return node.text;
    default: return nullptr;
  }
}

class SchemaValidator {
 public:
  explicit SchemaValidator(Json schema) : root_(std::move(schema)) {}

  bool Accepts(const Json& value) const { return Accepts(root_, value); }

 private:
  static bool IsType(const std::string& type, const Json& value) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
  }

  size_t CountAccepting(const Json& schemas, const Json& value) const {
    return static_cast<size_t>(
        std::count_if(schemas.begin(), schemas.end(), [&](const Json& schema) { return Accepts(schema, value); }));
  }

  bool Accepts(const Json& schema, const Json& value) const {
    for (const auto& [keyword, wanted] : schema.items())
      if (!Fulfils(schema, keyword, wanted, value)) return false;
    return true;
  }

  bool Fulfils(const Json& schema, const std::string& keyword, const Json& wanted, const Json& value) const {
    if (keyword == "$ref") return Accepts(root_.at(Json::json_pointer(wanted.get<std::string>().substr(1))), value);
    if (keyword == "type")
      return wanted.is_string()
                 ? IsType(wanted, value)
                 : std::any_of(wanted.begin(), wanted.end(), [&](const Json& type) { return IsType(type, value); });
    if (keyword == "const") return value == wanted;
    if (keyword == "enum") return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
    if (keyword == "anyOf") return CountAccepting(wanted, value) > 0;
    if (keyword == "oneOf") return CountAccepting(wanted, value) == 1;
    if (keyword == "not") return !Accepts(wanted, value);
    if (keyword == "pattern")
      return !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(wanted.get<std::string>()));
    if (keyword == "minLength") return !value.is_string() || value.get<std::string>().size() >= wanted;
    if (keyword == "minimum") return !value.is_number() || value >= wanted;
    if (keyword == "maximum") return !value.is_number() || value <= wanted;
    if (keyword == "minItems") return !value.is_array() || value.size() >= wanted;
    if (keyword == "maxItems") return !value.is_array() || value.size() <= wanted;
    if (keyword == "items")
      return !value.is_array() ||
             std::all_of(value.begin(), value.end(), [&](const Json& item) { return Accepts(wanted, item); });
    if (keyword == "required")
      return !value.is_object() ||
             std::all_of(wanted.begin(), wanted.end(), [&](const Json& key) { return value.contains(key); });
    if (keyword == "properties" || keyword == "additionalProperties" || keyword == "propertyNames")
      return !value.is_object() || FulfilsKeys(schema, keyword, wanted, value);
    static const std::set<std::string> kSaysNothing = {"$schema", "$defs", "title", "description"};
    if (kSaysNothing.count(keyword) == 0) throw std::logic_error("keyword of JSON Schema not known here: " + keyword);
    return true;
  }

  bool FulfilsKeys(const Json& schema, const std::string& keyword, const Json& wanted, const Json& value) const {
    for (const auto& [key, entry] : value.items()) {
      const bool is_named = schema.contains("properties") && schema["properties"].contains(key);
      if (keyword == "propertyNames" && !Accepts(wanted, key)) return false;
      if (keyword == "properties" && is_named && !Accepts(wanted[key], entry)) return false;
      if (keyword != "additionalProperties" || is_named) continue;
      if (wanted.is_boolean() ? !wanted.get<bool>() : !Accepts(wanted, entry)) return false;
    }
    return true;
  }

  Json root_;
};

}  // namespace deputy::host::testing
