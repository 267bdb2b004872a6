// deputy config: checks a configuration, prints the effective values with their origins, and prints the schema.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_report.hpp"
#include "cli/terminal.hpp"
#include "deputy/context.hpp"
#include "deputy/plugins.hpp"

namespace deputy::cli {
namespace {

struct ConfigOptions {
  ContextOptions context;
  std::string file;
  bool probe = false;
};

Json NumberSchema(const char* type, const OptionReport& option) {
  Json schema = {{"type", type}};
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
    schema = NumberSchema("integer", option);
  } else if (option.type == "float") {
    schema = NumberSchema("number", option);
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

// ConfigOptions with dotted names may be written as nested mappings, so unknown options can be detected only without
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

// A delegate's options are checked if its plugin is in the listing; other delegates accept any options.
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

int Check(ConfigOptions& options) {
  if (!options.file.empty() && !options.context.config.empty() && options.file != options.context.config)
    return FailUsage("two configuration files are given; check one at a time");
  if (!options.file.empty()) options.context.config = options.file;
  int exit_status = kDone;
  if (!options.context.Read(exit_status)) return exit_status;
  Print("{}: ok\n", options.context.config.empty() ? "the built-in defaults" : options.context.config);
  return kDone;
}

int ShowConfiguration(const ConfigOptions& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  Print("{}", Shown::Lines(context->ShowConfig()));
  return kDone;
}

int Schema(const ConfigOptions& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  PluginQuery query;
  query.probe_all = options.probe;
  const Result<PluginListing> listing = context->ListPlugins(query);
  if (!listing.ok()) return Fail(Stage::kDelegates, listing.status());
  PrintJson(SchemaWithOptions(*listing));
  return kDone;
}

}  // namespace

Command MakeConfigCommand(CLI::App& app) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* syntax =
      app.add_subcommand("config", "Check or print a configuration, or print the schema of configurations");
  syntax->require_subcommand(1);
  CLI::App* check = syntax->add_subcommand("check", "Report all problems of a configuration at once");
  check->add_option("file", options->file, "Configuration file [default: --config, or the built-in defaults]")
      ->type_name("FILE");
  options->context.AddTo(*check);
  SetExample(*check, "deputy config check npu-first.yaml");
  CLI::App* show = syntax->add_subcommand("show", "Print the effective configuration with the origin of every value");
  options->context.AddTo(*show);
  SetExample(*show, "deputy config show --config npu-first.yaml --set delegates.npu0.options.frequency=low");
  CLI::App* schema = syntax->add_subcommand(
      "schema", "Print the JSON Schema of configuration files, with the options of the configured delegates");
  options->context.AddTo(*schema);
  schema->add_flag("--probe", options->probe, "Include the options of all plugins; runs each in a helper process");
  SetExample(*schema, "deputy config schema --probe > deputy.schema.json");
  SetExample(*syntax, "deputy config check npu-first.yaml");
  return {
      syntax, [options, check, schema] {
        return check->parsed() ? Check(*options) : schema->parsed() ? Schema(*options) : ShowConfiguration(*options);
      }};
}

}  // namespace deputy::cli
