// deputy plugins: every file that was looked at for plugins, and what became of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/context_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_report.hpp"
#include "cli/nearest.hpp"
#include "cli/quantity.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {
namespace {

struct Options {
  ContextOptions context;
  std::string operators_of;  // a delegate; empty: of all
  bool operators = false, why = false, json = false;
};

std::string RangeOf(const OptionReport& option) {
  if (!option.choices.empty()) return option.choices;
  if (!(option.minimum < option.maximum) || !std::isfinite(option.minimum) || !std::isfinite(option.maximum)) return {};
  return fmt::format("{} to {}{}{}", NumberText(option.minimum), NumberText(option.maximum),
                     option.unit.empty() ? "" : " ", option.unit);
}

void PrintDelegate(const PluginDelegateReport& delegate, bool why, const Terminal& terminal) {
  fmt::print("  {}{}{}\n", terminal.Paint(Paint::kBold, delegate.id), delegate.description.empty() ? "" : ": ",
             delegate.description);
  if (!delegate.available)
    fmt::print("    not available{}{}\n", delegate.unavailable.empty() ? "" : ": ", delegate.unavailable);
  if (!delegate.options.empty()) {
    Table table({{"option"}, {"type"}, {"default"}, {"range"}, {"meaning"}});
    for (const OptionReport& option : delegate.options)
      table.AddRow({option.name, option.type, option.default_value, RangeOf(option), option.help});
    fmt::print("{}", table.Text(terminal, "    "));
  }
  if (!delegate.devices.empty()) {
    Table table({{"device", Align::kRight}, {"name"}, {"kind"}, {"memory"}, {"clock"}, {"driver"}});
    for (const DeviceListing& device : delegate.devices)
      table.AddRow({std::to_string(device.number), device.name, device.kind,
                    device.memory_bytes == 0 ? "" : BytesText(device.memory_bytes),
                    device.frequency_hz == 0 ? "" : ClockText(device.frequency_hz), device.driver});
    fmt::print("{}", table.Text(terminal, "    "));
  }
  if (!delegate.used_by.empty()) {
    fmt::print("    used by {}\n", fmt::join(delegate.used_by, ", "));
  } else if (why) {
    fmt::print(
        "    not used: no line of the configuration names it; below 'delegates:' this one would\n"
        "      - name: {}\n",
        delegate.id);
  } else {
    fmt::print("    not used\n");
  }
  if (why && !delegate.extensions.empty()) fmt::print("    speaks {}\n", fmt::join(delegate.extensions, ", "));
}

void PrintPlugin(const PluginReport& plugin, bool why, const Terminal& terminal) {
  if (!plugin.accepted) {
    fmt::print("{}  {}\n  {}: {}\n", terminal.Paint(Paint::kBad, "rejected"), plugin.file, plugin.rule, plugin.reason);
    return;
  }
  fmt::print("{}  {}\n", terminal.Paint(Paint::kGood, "accepted"), plugin.file);
  fmt::print("  plugin {} {}{}{}, ABI {}\n", plugin.id, plugin.version, plugin.vendor.empty() ? "" : " by ",
             plugin.vendor, plugin.abi);
  if (why && !plugin.rule.empty())
    fmt::print("  decided by {}{}{}\n", plugin.rule, plugin.reason.empty() ? "" : ": ", plugin.reason);
  for (const PluginDelegateReport& delegate : plugin.delegates) PrintDelegate(delegate, why, terminal);
  if (!plugin.files.empty()) fmt::print("  travels with {}\n", fmt::join(plugin.files, ", "));
}

// "7 to 14", "from 7", "to 14"; "" for any. 0 is an open end.
std::string SpanText(uint32_t first, uint32_t last, bool open) {
  if (!open && first == last) return std::to_string(first);
  if (open) return first == 0 ? "" : fmt::format("from {}", first);
  return first == 0 ? fmt::format("to {}", last) : fmt::format("{} to {}", first, last);
}

// Sees whether there is a delegate of that id; "" asks for all.
int ListOperators(const PluginListing& listing, const Options& options) {
  std::vector<std::string> ids;
  Json json = Json::array();
  std::string text;
  const Terminal terminal = TerminalOf(stdout);
  for (const PluginReport& plugin : listing.plugins)
    for (const PluginDelegateReport& delegate : plugin.delegates) {
      ids.push_back(delegate.id);
      if (!options.operators_of.empty() && options.operators_of != delegate.id) continue;
      Json rows = Json::array();
      for (const CapabilityReport& row : delegate.capabilities) rows.push_back(ToJson(row));
      json.push_back({{"delegate", delegate.id}, {"operators", std::move(rows)}});
      text += (text.empty() ? "" : "\n") + terminal.Paint(Paint::kBold, delegate.id) +
              (delegate.capabilities.empty() ? ": lists no operators\n" : "\n");
      if (delegate.capabilities.empty()) continue;
      Table table({{"operator"}, {"definitions"}, {"dtypes"}, {"ranks"}, {"layouts"}, {"note"}});
      for (const CapabilityReport& row : delegate.capabilities) {
        const bool dense = row.layouts == std::vector<std::string>{"dense"};
        table.AddRow({(row.domain.empty() ? "" : row.domain + ".") + row.op_type,
                      SpanText(row.min_version, row.max_version, row.max_version == 0),
                      fmt::format("{}", fmt::join(row.dtypes, ", ")),
                      SpanText(row.min_rank, row.max_rank, row.any_rank),
                      dense ? "" : fmt::format("{}", fmt::join(row.layouts, ", ")), row.note});
      }
      text += table.Text(terminal, "  ");
    }
  if (json.empty() && !options.operators_of.empty())
    return FailUsage(fmt::format("--operators: no plugin has a delegate '{}'{}", options.operators_of,
                                 DidYouMean(options.operators_of, ids)));
  if (options.json) {
    PrintJson({{"delegates", std::move(json)}});
  } else {
    fmt::print("{}", text);
  }
  return kDone;
}

int Run(const Options& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  const Result<PluginListing> listing = context->ListPlugins();
  if (!listing.ok()) return Fail(Stage::kDelegates, listing.status());
  if (options.operators) return ListOperators(*listing, options);
  if (options.json) {
    PrintJson(ToJson(*listing));
    return kDone;
  }
  const Terminal terminal = TerminalOf(stdout);
  for (const std::string& folder : listing->folders) fmt::print("searched  {}\n", folder);
  for (const PluginReport& plugin : listing->plugins) {
    fmt::print("\n");
    PrintPlugin(plugin, options.why, terminal);
  }
  if (!listing->notes.empty()) fmt::print("\n");
  for (const std::string& note : listing->notes) fmt::print("note: {}\n", note);
  const auto accepted = std::count_if(listing->plugins.begin(), listing->plugins.end(),
                                      [](const PluginReport& plugin) { return plugin.accepted; });
  fmt::print("\n{} looked at, {} accepted\n", Plural(listing->plugins.size(), "file"), accepted);
  return kDone;
}

}  // namespace

Command MakePluginsCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* syntax = app.add_subcommand("plugins", "Lists every file looked at for plugins, accepted or rejected");
  options->context.AddTo(*syntax);
  syntax->add_flag("--why", options->why, "Says which rule decided, and which line uses a plugin or would use it");
  syntax
      ->add_option("--operators", options->operators_of,
                   "Lists the operators that the delegate ID says it can run, or those of all; no model is needed")
      ->expected(0, 1)
      ->type_name("[ID]");
  syntax->add_flag("--json", options->json, "For machines");
  SetExample(*syntax, "deputy plugins --why --config npu-first.yaml");
  return {syntax, [options, syntax] {
            options->operators = syntax->count("--operators") > 0;
            return Run(*options);
          }};
}

}  // namespace deputy::cli
