// deputy plugins: every file in the plugin folders, and the result of checking it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_report.hpp"
#include "cli/quantity.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "deputy/context.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

// Rejected files that are listed one by one without --why.
constexpr size_t kMostRejected = 20;

struct PluginsOptions {
  ContextOptions context;
  std::string operators_of;  // id of a delegate; empty: all delegates
  bool operators = false, probe = false, why = false, json = false;
};

std::string RangeOf(const OptionReport& option) {
  if (!option.choices.empty()) return option.choices;
  if (!(option.minimum < option.maximum) || !std::isfinite(option.minimum) || !std::isfinite(option.maximum)) return {};
  return fmt::format("{} to {}{}{}", NumberText(option.minimum), NumberText(option.maximum),
                     option.unit.empty() ? "" : " ", option.unit);
}

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
                 {"type", Align::kLeft, Fit::kMiddle, 1},
                 {"default", Align::kLeft, Fit::kMiddle, 2},
                 {"range", Align::kLeft, Fit::kWrap, 3},
                 {"meaning", Align::kLeft, Fit::kWrap}});
    for (const OptionReport& option : delegate.options)
      table.AddRow({option.name, option.type, option.default_value, RangeOf(option), option.help});
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
    Print("      - name: {}\n", delegate.id);
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
  line(Show("plugin {} {}{}{}, ABI {}", plugin.id, plugin.version, plugin.vendor.empty() ? "" : " by ", plugin.vendor,
            plugin.abi));
  if (why && !plugin.rule.empty())
    line(Show("rule: {}{}{}", plugin.rule, plugin.reason.empty() ? "" : ": ", plugin.reason));
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

// "7 to 14", "from 7", "to 14"; "" for any. 0 is an open end.
std::string SpanText(uint32_t first, uint32_t last, bool open) {
  if (!open && first == last) return std::to_string(first);
  if (open) return first == 0 ? "" : fmt::format("from {}", first);
  return first == 0 ? fmt::format("to {}", last) : fmt::format("{} to {}", first, last);
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
      Table table({{"operator"},
                   {"definitions", Align::kLeft, Fit::kMiddle, 1},
                   {"dtypes", Align::kLeft, Fit::kList},
                   {"ranks", Align::kLeft, Fit::kMiddle, 3},
                   {"layouts", Align::kLeft, Fit::kList, 4},
                   {"note", Align::kLeft, Fit::kWrap, 2}});
      for (const CapabilityReport& row : delegate.capabilities) {
        const bool dense = row.layouts == std::vector<std::string>{"dense"};
        table.AddRow({(row.domain.empty() ? "" : row.domain + ".") + row.op_type,
                      SpanText(row.min_version, row.max_version, row.max_version == 0), Joined(row.dtypes),
                      SpanText(row.min_rank, row.max_rank, row.any_rank), dense ? "" : Joined(row.layouts), row.note});
      }
      text += table.Text(terminal, "  ");
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

int RunPlugins(const PluginsOptions& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
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
  CLI::App* syntax = app.add_subcommand("plugins", "List all files in the plugin folders, accepted or rejected");
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
  SetExample(*syntax, "deputy plugins --why --config npu-first.yaml");
  return {syntax, [options, syntax] {
            options->operators = syntax->count("--operators") > 0;
            return RunPlugins(*options);
          }};
}

}  // namespace deputy::cli
