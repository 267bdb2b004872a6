// deputy config: checks a configuration, and shows what is in force and where each value comes from.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/context_options.hpp"
#include "cli/exit_code.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {
namespace {

struct Options {
  ContextOptions context;
  std::string file;
};

int Check(Options& options) {
  if (!options.file.empty() && !options.context.config.empty() && options.file != options.context.config)
    return FailUsage("two configurations are named; check one at a time");
  if (!options.file.empty()) options.context.config = options.file;
  int exit_status = kDone;
  if (!options.context.Read(exit_status)) return exit_status;
  fmt::print("{}: ok\n", options.context.config.empty() ? "the built-in default" : options.context.config);
  return kDone;
}

int Show(const Options& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  fmt::print("{}", context->ShowConfig());
  return kDone;
}

}  // namespace

Command MakeConfigCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* syntax = app.add_subcommand("config", "Checks a configuration, or shows the one in force");
  syntax->require_subcommand(1);
  CLI::App* check = syntax->add_subcommand("check", "Reports all problems of a configuration at once");
  check->add_option("file", options->file, "The configuration; without it, --config or the default")->type_name("FILE");
  options->context.AddTo(*check);
  SetExample(*check, "deputy config check npu-first.yaml");
  CLI::App* show = syntax->add_subcommand("show", "Prints the effective configuration with the origin of every value");
  options->context.AddTo(*show);
  SetExample(*show, "deputy config show --config npu-first.yaml --set delegates.npu0.options.frequency=low");
  SetExample(*syntax, "deputy config check npu-first.yaml");
  return {syntax, [options, check] { return check->parsed() ? Check(*options) : Show(*options); }};
}

}  // namespace deputy::cli
