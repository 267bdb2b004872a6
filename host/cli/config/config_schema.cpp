#include "cli/config/config_schema.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "deputy/context.hpp"

namespace deputy::cli {
namespace {

Json IntegerSchema(const OptionReport& option) {
  Json schema = {{"type", "integer"}};
  if (option.int_minimum >= option.int_maximum) return schema;
  schema["minimum"] = option.int_minimum;
  schema["maximum"] = option.int_maximum;
  return schema;
}

Json NumberSchema(const OptionReport& option) {
  Json schema = {{"type", "number"}};
  if (option.minimum < option.maximum && std::isfinite(option.minimum)) schema["minimum"] = option.minimum;
  if (option.minimum < option.maximum && std::isfinite(option.maximum)) schema["maximum"] = option.maximum;
  return schema;
}

// "low|high"
Json Choices(const std::string& listed) {
  Json words = Json::array();
  for (size_t from = 0; from <= listed.size();) {
    const size_t end = std::min(listed.find('|', from), listed.size());
    words.push_back(listed.substr(from, end - from));
    from = end + 1;
  }
  return {{"enum", std::move(words)}};
}

Json OptionSchema(const OptionReport& option) {
  Json schema;
  if (option.type == "bool") {
    schema = {{"type", "boolean"}};
  } else if (option.type == "int") {
    schema = IntegerSchema(option);
  } else if (option.type == "float") {
    schema = NumberSchema(option);
  } else if (option.type == "enum") {
    schema = Choices(option.choices);
  } else if (option.type == "frequency") {
    const Json levels = {{"enum", {"low", "balanced", "high", "extreme", 1, 2, 3, 4}}};
    const Json clock = {{"type", "string"}, {"pattern", R"(^[0-9]+(\.[0-9]+)?(GHz|MHz|kHz|Hz)$)"}};
    schema = {{"anyOf", {levels, clock}}};
  } else {
    schema = {{"type", {"string", "number", "boolean"}}};
  }
  if (!option.help.empty()) schema["description"] = option.help + (option.unit.empty() ? "" : " (" + option.unit + ")");
  return schema;
}

// Options with dotted names may be written as nested mappings, so unknown options can be detected only without
// them.
bool HasDottedNames(const PluginDelegateReport& delegate) {
  for (const OptionReport& option : delegate.options)
    if (option.name.find('.') != std::string::npos) return true;
  return false;
}

// For an entry of `delegates` that is served by `delegate`, by its key 'delegate' or else by its name.
Json RuleFor(const PluginDelegateReport& delegate) {
  const auto key_is = [&](const char* key) {
    return Json{{"properties", {{key, {{"const", delegate.id}}}}}, {"required", Json::array({key})}};
  };
  Json by_name = key_is("name");
  by_name["not"] = {{"required", Json::array({"delegate"})}};
  Json options = {{"type", "object"}, {"properties", Json::object()}};
  for (const OptionReport& option : delegate.options) options["properties"][option.name] = OptionSchema(option);
  if (!HasDottedNames(delegate)) options["additionalProperties"] = false;
  return {{"if", {{"anyOf", Json::array({key_is("delegate"), std::move(by_name)})}}},
          {"then", {{"properties", {{"options", std::move(options)}}}}}};
}

}  // namespace

Json SchemaWithOptions(const PluginListing& listing) {
  Json schema = Json::parse(ConfigSchema());
  Json rules = Json::array();
  for (const PluginReport& plugin : listing.plugins) {
    if (!plugin.probed) continue;  // its options are not known
    for (const PluginDelegateReport& delegate : plugin.delegates) rules.push_back(RuleFor(delegate));
  }
  if (!rules.empty()) schema["properties"]["delegates"]["items"]["allOf"] = std::move(rules);
  return schema;
}

}  // namespace deputy::cli
