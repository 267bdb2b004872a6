// deputy quarantine: plugin files that are not run again after a fault.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/report/json_report.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kKeyDigits = 12;  // of a key that are shown; --json has all

struct QuarantineOptions {
  ContextOptions context;
  std::string name;
  bool all = false, json = false;
};

int Failed(const Status& status) {
  return status.code() == StatusCode::kNotFound ? FailUsage(status.message()) : Fail(Stage::kRun, status);
}

std::string Age(const QuarantinedPlugin& plugin) {
  const auto age = std::chrono::system_clock::now() - plugin.since;
  return AgeText(std::chrono::duration_cast<std::chrono::seconds>(age));
}

std::string StateText(const QuarantinedPlugin& plugin) {
  return plugin.in_force ? "in force" : "without effect here: the plugin's files, Deputy or the system have changed";
}

// What is not run on the file.
std::string SubjectOf(const QuarantinedPlugin& plugin) {
  return plugin.part.empty() ? "the plugin" : fmt::format("{} of {}", plugin.part, plugin.model);
}

int List(const QuarantineOptions& options, const std::vector<QuarantinedPlugin>& plugins) {
  if (options.json) {
    PrintJson(ToJson(plugins));
    return kDone;
  }
  if (plugins.empty()) {
    Print("no plugin is quarantined\n");
    return kDone;
  }
  const Terminal terminal = TerminalOf(stdout);
  Table table({{"file", Align::kLeft, Fit::kMiddle, 1},
               {"key"},
               {"since", Align::kRight},
               {"rule"},
               {"of", Align::kLeft, Fit::kWrap},
               {"state", Align::kLeft, Fit::kWrap}});
  for (const QuarantinedPlugin& plugin : plugins)
    table.AddRow({std::filesystem::path(plugin.file).filename().string(), plugin.key.substr(0, kKeyDigits), Age(plugin),
                  plugin.rule, SubjectOf(plugin), StateText(plugin)});
  Print("{}", table.Text(terminal, ""));
  return kDone;
}

int Why(const QuarantineOptions& options, const std::vector<QuarantinedPlugin>& plugins) {
  if (options.json) {
    PrintJson(ToJson(plugins));
    return kDone;
  }
  const Terminal terminal = TerminalOf(stdout);
  for (const QuarantinedPlugin& plugin : plugins) {
    KeyTable table;
    table.Add("plugin", plugin.plugin);
    table.Add("of", SubjectOf(plugin));
    table.Add("rule", plugin.rule);
    table.Add("reason", "it " + plugin.reason);
    table.Add("since", Age(plugin));
    table.Add("state", StateText(plugin));
    table.Add("key", plugin.key.substr(0, kKeyDigits));
    Print("{}\n{}", plugin.file, table.Text(terminal, "  "));
  }
  return kDone;
}

int Clear(const QuarantineOptions& options, const Context& context) {
  if (options.all == !options.name.empty()) return FailUsage("clear: a NAME or --all is required");
  const Result<std::vector<QuarantinedPlugin>> cleared =
      context.ClearQuarantine(options.all ? std::nullopt : std::optional(options.name));
  if (!cleared.ok()) return Failed(cleared.status());
  if (options.json) {
    PrintJson(ToJson(*cleared));
    return kDone;
  }
  for (const QuarantinedPlugin& plugin : *cleared)
    Print("{}: {}will be run again\n", plugin.file, plugin.part.empty() ? "" : SubjectOf(plugin) + " ");
  if (cleared->empty()) Print("no plugin is quarantined\n");
  return kDone;
}

}  // namespace

Command MakeQuarantineCommand(CLI::App& app) {
  auto options = std::make_shared<QuarantineOptions>();
  CLI::App* syntax = app.add_subcommand("quarantine", "List or release plugins that are not run again after a fault");
  syntax->require_subcommand(1);
  CLI::App* list = syntax->add_subcommand("ls", "List the quarantined files");
  SetExample(*list, "deputy quarantine ls --config npu-first");
  CLI::App* why = syntax->add_subcommand("why", "Show the fault of one file");
  why->add_option("NAME", options->name, "File, path, plugin id or beginning of a key")->required();
  SetExample(*why, "deputy quarantine why libnpu.so");
  CLI::App* clear = syntax->add_subcommand("clear", "Let files be run again");
  clear->add_option("NAME", options->name, "File, path, plugin id or beginning of a key");
  clear->add_flag("--all", options->all, "Every quarantined file");
  SetExample(*clear, "deputy quarantine clear libnpu.so");
  for (CLI::App* command : {list, why, clear}) {
    options->context.AddTo(*command);
    AddJson(*command, options->json);
  }
  SetExample(*syntax, "deputy quarantine ls");
  return {syntax, [options, why, clear] {
            int exit_status = kDone;
            const std::optional<Context> context = options->context.Read(exit_status);
            if (!context) return exit_status;
            if (clear->parsed()) return Clear(*options, *context);
            const Result<std::vector<QuarantinedPlugin>> plugins =
                context->ListQuarantine(why->parsed() ? std::optional(options->name) : std::nullopt);
            if (!plugins.ok()) return Failed(plugins.status());
            return why->parsed() ? Why(*options, *plugins) : List(*options, *plugins);
          }};
}

}  // namespace deputy::cli
