// deputy config: checks a configuration, prints the effective values with their origins, and prints the schema.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/config_schema.hpp"
#include "cli/context_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_report.hpp"
#include "cli/shown.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {
namespace {

struct Options {
  ContextOptions context;
  std::string file;
  bool probe = false;
};

int Check(Options& options) {
  if (!options.file.empty() && !options.context.config.empty() && options.file != options.context.config)
    return FailUsage("two configuration files are given; check one at a time");
  if (!options.file.empty()) options.context.config = options.file;
  int exit_status = kDone;
  if (!options.context.Read(exit_status)) return exit_status;
  Print("{}: ok\n", options.context.config.empty() ? "the built-in defaults" : options.context.config);
  return kDone;
}

int Show(const Options& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  Print("{}", Shown::Lines(context->ShowConfig()));
  return kDone;
}

int Schema(const Options& options) {
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
  auto options = std::make_shared<Options>();
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
  return {syntax, [options, check, schema] {
            return check->parsed() ? Check(*options) : schema->parsed() ? Schema(*options) : Show(*options);
          }};
}

}  // namespace deputy::cli
