// deputy plugins: every file in the plugin folders, and the result of checking it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/plugin_detail.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/context.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

// Rejected files that are listed one by one without --why.
constexpr size_t kMostRejected = 20;

struct PluginsOptions {
  ContextOptions context;
  std::string name;          // of one plugin; empty: all
  std::string operators_of;  // id of a delegate; empty: all delegates
  bool operators = false, probe = false, why = false, json = false;
};

void PrintDelegate(const PluginReport& plugin, const PluginDelegateReport& delegate, bool why,
                   const Terminal& terminal) {
  const auto line = [&](const Shown& text) { Print("{}", Paragraph(terminal, "    ", text)); };
  Print("{}", Paragraph(terminal, "  ",
                        Show("{}{}{}", terminal.Paint(Paint::kBold, delegate.id),
                             delegate.description.empty() ? "" : ": ", delegate.description)));
  if (!plugin.probed) line("not run: options and devices are unknown; --probe runs it");
  if (plugin.probed && !delegate.available)
    line(Show("not available{}{}", delegate.unavailable.empty() ? "" : ": ", delegate.unavailable));
  if (!delegate.options.empty()) {
    Table table({{"option"},
                 {"type", Align::kLeft, Fit::kMiddle, 3},
                 {"default", Align::kLeft, Fit::kMiddle, 2},
                 {"range", Align::kLeft, Fit::kWrap, 1},
                 {"meaning", Align::kLeft, Fit::kWrap}});
    for (const OptionReport& option : delegate.options)
      table.AddRow({option.name, option.type, option.default_value, OptionRange(option),
                    option.settable ? option.help + " (settable between runs)" : option.help});
    Print("{}", table.Text(terminal, "    "));
  }
  if (!delegate.devices.empty()) {
    Table table({{"device", Align::kRight},
                 {"name"},
                 {"kind", Align::kLeft, Fit::kMiddle, 1},
                 {"memory", Align::kLeft, Fit::kMiddle, 2},
                 {"clock", Align::kLeft, Fit::kMiddle, 3},
                 {"driver", Align::kLeft, Fit::kMiddle, 4}});
    for (const DeviceListing& device : delegate.devices)
      table.AddRow({std::to_string(device.number), device.name, device.kind,
                    device.memory_bytes == 0 ? "" : BytesText(device.memory_bytes),
                    device.frequency_hz == 0 ? "" : ClockText(device.frequency_hz), device.driver});
    Print("{}", table.Text(terminal, "    "));
  }
  if (!delegate.used_by.empty()) {
    line(Show("used by {}", Joined(delegate.used_by)));
  } else if (why) {
    line("not used: the configuration does not name it; to use it, add this line below 'delegates:'");
    Print("      - name: {}\n", YamlName(delegate.id));
  } else {
    line("not used");
  }
  if (why && !delegate.extensions.empty()) line(Show("extensions: {}", Joined(delegate.extensions)));
}

void PrintPlugin(const PluginReport& plugin, bool why, const Terminal& terminal) {
  if (!plugin.accepted) {
    Print("{}  {}\n{}", terminal.Paint(Paint::kBad, "rejected"), plugin.file,
          Paragraph(terminal, "  ", Show("{}: {}", plugin.rule, plugin.reason)));
    return;
  }
  Print("{}  {}\n", terminal.Paint(Paint::kGood, "accepted"), plugin.file);
  const auto line = [&](const Shown& text) { Print("{}", Paragraph(terminal, "  ", text)); };
  line(Show("plugin {} {}{}{}, ABI {}", plugin.id, plugin.version.empty() ? "without a version" : plugin.version,
            plugin.vendor.empty() ? "" : " by ", plugin.vendor, plugin.abi));
  if (why && !plugin.rule.empty())
    line(Show("rule: {}{}{}", plugin.rule, plugin.reason.empty() ? "" : ": ", plugin.reason));
  if (why) line(Show("lock: {}", LockText(plugin)));
  if (why) line(Show("sandbox: {}", SandboxText(plugin)));
  if (why && !plugin.refused_calls.empty())
    line(Show("system calls that the sandbox refused: {}", Joined(plugin.refused_calls)));
  for (const PluginDelegateReport& delegate : plugin.delegates) PrintDelegate(plugin, delegate, why, terminal);
  if (!plugin.files.empty()) line(Show("required files: {}", Joined(plugin.files)));
}

size_t CountRejected(const PluginListing& listing) {
  return static_cast<size_t>(std::count_if(listing.plugins.begin(), listing.plugins.end(),
                                           [](const PluginReport& plugin) { return !plugin.accepted; }));
}

// Many rejected files in one line: "not-elf 19998, truncated 2".
void PrintRejectedSummary(const PluginListing& listing, const Terminal& terminal) {
  std::map<std::string, size_t> counts;
  for (const PluginReport& plugin : listing.plugins)
    if (!plugin.accepted) ++counts[plugin.rule];
  std::vector<std::string> parts;
  for (const auto& [rule, count] : counts) parts.push_back(fmt::format("{} {}", rule, count));
  Print("\n{}  {} files ({}); --why lists them\n", terminal.Paint(Paint::kBad, "rejected"), CountRejected(listing),
        Joined(parts));
}

// Lists the operators of one delegate, or of all delegates. An unknown id is a usage error.
int ListOperators(const PluginListing& listing, const PluginsOptions& options) {
  std::vector<std::string> ids;
  Json json = Json::array();
  Shown text;
  const Terminal terminal = TerminalOf(stdout);
  for (const PluginReport& plugin : listing.plugins)
    for (const PluginDelegateReport& delegate : plugin.delegates) {
      ids.push_back(delegate.id);
      if (!options.operators_of.empty() && options.operators_of != delegate.id) continue;
      Json rows = Json::array();
      for (const CapabilityReport& row : delegate.capabilities) rows.push_back(ToJson(row));
      json.push_back({{"delegate", delegate.id}, {"probed", plugin.probed}, {"operators", std::move(rows)}});
      text += Show("{}{}{}\n", Shown::AsIs(text.empty() ? "" : "\n"), terminal.Paint(Paint::kBold, delegate.id),
                   !plugin.probed                  ? ": not run: operators are unknown; --probe runs it"
                   : delegate.capabilities.empty() ? ": lists no operators"
                                                   : "");
      if (delegate.capabilities.empty()) continue;
      text += OperatorTable(delegate.capabilities, terminal);
    }
  if (json.empty() && !options.operators_of.empty())
    return FailUsage(fmt::format("--operators: no plugin has a delegate '{}'{}", options.operators_of,
                                 DidYouMean(options.operators_of, ids)));
  if (options.json) {
    PrintJson({{"delegates", std::move(json)}});
  } else {
    Print("{}", text);
  }
  return kDone;
}

// The context that finds a plugin outside of the configured folders: in the folder of the file.
Result<Context> ContextOfFile(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file, error);
  if (error) return Status(StatusCode::kNotFound, error.message()).At(file);
  return Context::FromYamlText(file,
                               "version: 1\nplugins: {paths: [" + Json(path.parent_path().string()).dump() + "]}\n");
}

// Shows one plugin, which is run in the helper process. An unknown name is a usage error.
int ShowPlugin(const PluginsOptions& options, Context context) {
  Result<PluginListing> listing = context.ListPlugins();
  if (!listing.ok()) return Fail(Stage::kDelegates, listing.status());
  const PluginReport* plugin = FindPlugin(*listing, options.name);
  std::error_code error;
  if (plugin == nullptr && std::filesystem::is_regular_file(options.name, error)) {
    Result<Context> other = ContextOfFile(options.name);
    if (!other.ok()) return Fail(Stage::kSetup, other.status());
    context = std::move(other).value();
    listing = context.ListPlugins();
    if (!listing.ok()) return Fail(Stage::kDelegates, listing.status());
    plugin = FindPlugin(*listing, options.name);
    if (plugin == nullptr) return FailUsage(fmt::format("{}: is not named *.so", options.name));
  }
  if (plugin == nullptr)
    return FailUsage(fmt::format("no plugin, delegate or file is called '{}'{}; 'deputy plugins' lists all",
                                 options.name, DidYouMean(options.name, PluginNames(*listing))));
  if (plugin->accepted && !plugin->probed) {
    PluginQuery query;
    for (const PluginDelegateReport& delegate : plugin->delegates) query.probe.push_back(delegate.id);
    const std::string file = plugin->file;
    listing = context.ListPlugins(query);
    if (!listing.ok()) return Fail(Stage::kDelegates, listing.status());
    plugin = FindPlugin(*listing, file);
    if (plugin == nullptr) return FailRun(fmt::format("{}: was removed", file));
  }
  if (options.json) {
    PrintJson(ToJson(*plugin));
  } else {
    Print("{}", PluginText(*plugin, TerminalOf(stdout)));
  }
  return plugin->accepted ? kDone : kNo;
}

int RunPlugins(const PluginsOptions& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  if (!options.name.empty() && !options.operators) return ShowPlugin(options, *context);
  PluginQuery query;
  query.probe_all = options.probe;
  if (!options.operators_of.empty()) query.probe.push_back(options.operators_of);
  const Result<PluginListing> listing = context->ListPlugins(query);
  if (!listing.ok()) return Fail(Stage::kDelegates, listing.status());
  if (options.operators) return ListOperators(*listing, options);
  if (options.json) {
    PrintJson(ToJson(*listing));
    return kDone;
  }
  const Terminal terminal = TerminalOf(stdout);
  for (const std::string& folder : listing->folders) Print("searched  {}\n", folder);
  const bool all = options.why || CountRejected(*listing) <= kMostRejected;
  for (const PluginReport& plugin : listing->plugins) {
    if (!plugin.accepted && !all) continue;
    Print("\n");
    PrintPlugin(plugin, options.why, terminal);
  }
  if (!all) PrintRejectedSummary(*listing, terminal);
  if (!listing->notes.empty()) Print("\n");
  for (const std::string& note : listing->notes) Print("note: {}\n", note);
  const auto accepted = std::count_if(listing->plugins.begin(), listing->plugins.end(),
                                      [](const PluginReport& plugin) { return plugin.accepted; });
  Print("\n{} checked, {} accepted\n", Plural(listing->plugins.size(), "file"), accepted);
  return kDone;
}

}  // namespace

Command MakePluginsCommand(CLI::App& app) {
  auto options = std::make_shared<PluginsOptions>();
  CLI::App* syntax = app.add_subcommand("plugins", "List all files in the plugin folders, or describe one plugin");
  syntax
      ->add_option(
          "name", options->name,
          "Describe one: id of a plugin or delegate, or its file; runs it in a helper process. Exit status 1 if "
          "it is rejected")
      ->type_name("PLUGIN");
  options->context.AddTo(*syntax);
  syntax->add_flag("--probe", options->probe,
                   "Run all plugins in a helper process to describe them, not only the configured ones");
  syntax->add_flag("--why", options->why,
                   "Show the deciding rule of each file, and the configuration lines that use it or would use it");
  syntax
      ->add_option("--operators", options->operators_of,
                   "List the supported operators of the delegate ID, or of all delegates that are run for the listing; "
                   "needs no model")
      ->expected(0, 1)
      ->type_name("[ID]");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy plugins --why --config npu-first\n  deputy plugins sim_npu");
  return {syntax, [options, syntax] {
            options->operators = syntax->count("--operators") > 0;
            if (options->operators && options->operators_of.empty()) options->operators_of = options->name;
            return RunPlugins(*options);
          }};
}

}  // namespace deputy::cli
