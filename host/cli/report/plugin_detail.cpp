#include "cli/report/plugin_detail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"

namespace deputy::cli {
namespace {

namespace fs = std::filesystem;

// "7 to 14", "from 7", "to 14"; "" for any. 0 is an open end.
std::string SpanText(uint32_t first, uint32_t last, bool open) {
  if (!open && first == last) return std::to_string(first);
  if (open) return first == 0 ? "" : fmt::format("from {}", first);
  return first == 0 ? fmt::format("to {}", last) : fmt::format("{} to {}", first, last);
}

bool Means(const PluginReport& plugin, const std::string& name) {
  const fs::path file = plugin.file;
  if (plugin.id == name || file.filename() == name || file.stem() == name) return true;
  for (const PluginDelegateReport& delegate : plugin.delegates)
    if (delegate.id == name) return true;
  std::error_code error;
  return name.find('/') != std::string::npos && fs::equivalent(file, name, error);
}

bool IsClock(const OptionReport& option) {
  return option.type == "frequency" && option.minimum > 0 && option.minimum < option.maximum;
}

Shown OptionsText(const PluginDelegateReport& delegate, const Terminal& terminal) {
  Shown text = Show("\n  {}\n", terminal.Paint(Paint::kDim, "options"));
  for (const OptionReport& option : delegate.options) {
    const std::string range = OptionRange(option);
    text +=
        Paragraph(terminal, "    ",
                  Show("{}: {}{}{}, default {}{}", terminal.Paint(Paint::kBold, option.name), option.type,
                       option.unit.empty() || IsClock(option) ? "" : " in " + option.unit,
                       range.empty() ? "" : ", " + range, option.default_value.empty() ? "none" : option.default_value,
                       option.settable ? ", settable between runs" : ""));
    if (!option.help.empty()) text += Paragraph(terminal, "      ", option.help);
  }
  return text;
}

Shown DevicesText(const PluginDelegateReport& delegate, const Terminal& terminal) {
  Shown text = Show("\n  {}\n", terminal.Paint(Paint::kDim, "devices"));
  for (const DeviceListing& device : delegate.devices) {
    std::vector<std::string> parts = {device.kind};
    if (device.memory_bytes != 0) parts.push_back(BytesText(device.memory_bytes) + " of memory");
    if (device.frequency_hz != 0) parts.push_back("clock " + ClockText(device.frequency_hz));
    if (!device.driver.empty()) parts.push_back("driver " + device.driver);
    text += Paragraph(terminal, "    ",
                      Show("{} {}: {}", device.number, terminal.Paint(Paint::kBold, device.name), Joined(parts)));
  }
  return text;
}

Shown ConfigurationText(const PluginDelegateReport& delegate, const Terminal& terminal) {
  Shown text = Show("\n  {}\n", terminal.Paint(Paint::kDim, "configuration"));
  if (!delegate.used_by.empty())
    return text += Paragraph(terminal, "    ", Show("used by {}", Joined(delegate.used_by)));
  text += Show("    not used; to use it, add below 'delegates:'\n      - name: {}\n", YamlName(delegate.id));
  std::vector<std::string> options;
  for (const OptionReport& option : delegate.options)
    if (!option.default_value.empty()) options.push_back(option.name + ": " + option.default_value);
  if (!options.empty()) text += Show("        options: {{{}}}  # the defaults\n", Joined(options));
  return text;
}

Shown DelegateText(const PluginReport& plugin, const PluginDelegateReport& delegate, const Terminal& terminal) {
  Shown text = Show("\n{}", Paragraph(terminal, "",
                                      Show("delegate {}{}", terminal.Paint(Paint::kBold, delegate.id),
                                           delegate.description.empty() ? "" : ": " + delegate.description)));
  if (plugin.probed) {
    KeyTable table;
    table.Add("available", delegate.available ? "yes" : "no: " + delegate.unavailable);
    if (!delegate.extensions.empty()) table.Add("extensions", Joined(delegate.extensions));
    text += table.Text(terminal, "  ");
  }
  if (!delegate.devices.empty()) text += DevicesText(delegate, terminal);
  if (!delegate.options.empty()) text += OptionsText(delegate, terminal);
  text += ConfigurationText(delegate, terminal);
  if (!delegate.capabilities.empty())
    text +=
        Show("\n  {}\n{}", terminal.Paint(Paint::kDim, "operators"), OperatorTable(delegate.capabilities, terminal));
  return text;
}

}  // namespace

std::string YamlName(const std::string& id) {
  // Words with a meaning of their own in YAML.
  for (const char* word : {"null", "true", "false", "yes", "no", "on", "off"})
    if (id == word) return '"' + id + '"';
  return id;
}

std::string OptionRange(const OptionReport& option) {
  if (IsClock(option))
    return fmt::format("low|balanced|high|extreme, 1 to 4, or {} to {}",
                       ClockText(static_cast<uint64_t>(option.minimum)),
                       ClockText(static_cast<uint64_t>(option.maximum)));
  if (!option.choices.empty()) return option.choices;
  if (option.int_minimum < option.int_maximum)
    return fmt::format("{} to {}{}{}", option.int_minimum, option.int_maximum, option.unit.empty() ? "" : " ",
                       option.unit);
  if (!(option.minimum < option.maximum) || !std::isfinite(option.minimum) || !std::isfinite(option.maximum)) return {};
  return fmt::format("{} to {}{}{}", NumberText(option.minimum), NumberText(option.maximum),
                     option.unit.empty() ? "" : " ", option.unit);
}

Shown OperatorTable(const std::vector<CapabilityReport>& rows, const Terminal& terminal) {
  Table table({{"operator"},
               {"definitions", Align::kLeft, Fit::kMiddle, 1},
               {"dtypes", Align::kLeft, Fit::kList},
               {"ranks", Align::kLeft, Fit::kMiddle, 3},
               {"layouts", Align::kLeft, Fit::kList, 4},
               {"note", Align::kLeft, Fit::kWrap, 2}});
  for (const CapabilityReport& row : rows) {
    const bool dense = row.layouts == std::vector<std::string>{"dense"};
    table.AddRow({(row.domain.empty() ? "" : row.domain + ".") + row.op_type,
                  SpanText(row.min_version, row.max_version, row.max_version == 0), Joined(row.dtypes),
                  SpanText(row.min_rank, row.max_rank, row.any_rank), dense ? "" : Joined(row.layouts), row.note});
  }
  return table.Text(terminal, "  ");
}

const PluginReport* FindPlugin(const PluginListing& listing, const std::string& name) {
  const PluginReport* found = nullptr;
  for (const PluginReport& plugin : listing.plugins)
    if (Means(plugin, name) && (found == nullptr || (plugin.accepted && !found->accepted))) found = &plugin;
  return found;
}

std::vector<std::string> PluginNames(const PluginListing& listing) {
  std::vector<std::string> names;
  for (const PluginReport& plugin : listing.plugins) {
    for (const PluginDelegateReport& delegate : plugin.delegates) names.push_back(delegate.id);
    if (!plugin.id.empty()) names.push_back(plugin.id);
    names.push_back(fs::path(plugin.file).filename().string());
  }
  return names;
}

std::string LockText(const PluginReport& plugin) {
  if (plugin.listed) return "listed in " + plugin.lock;
  if (plugin.not_listed.empty()) return "not read, because the configuration does not name the plugin";
  return fmt::format("not listed: {}; 'isolation: auto' runs it in a worker process, but not with 'trust: any'",
                     plugin.not_listed);
}

std::string OpenedText(const PluginReport& plugin) {
  std::vector<std::string> opened;
  for (const OpenedLibrary& library : plugin.opens)
    opened.push_back(library.name + " (" +
                     (library.path.empty() ? "not in LD_LIBRARY_PATH or the system's folders" : library.path) + ")");
  return Joined(opened);
}

std::string SandboxText(const PluginReport& plugin) {
  if (plugin.sandbox == "user") return "none, the rights of the user";
  return plugin.sandbox == "gpu" ? fmt::format("gpu ({})", Joined(plugin.devices)) : plugin.sandbox;
}

Shown PluginText(const PluginReport& plugin, const Terminal& terminal) {
  Shown text = Show("plugin {}\n", terminal.Paint(Paint::kBold, plugin.id.empty() ? "without a manifest" : plugin.id));
  KeyTable table;
  table.Add("file", plugin.file);
  const Shown reason = plugin.reason.empty() ? Shown() : Show(": {}", plugin.reason);
  table.Add("state", plugin.accepted ? Show("{} ({}){}", terminal.Paint(Paint::kGood, "accepted"), plugin.rule, reason)
                                     : Show("{}: {}{}", terminal.Paint(Paint::kBad, "rejected"), plugin.rule, reason));
  const std::pair<const char*, std::string> rows[] = {{"vendor", plugin.vendor},
                                                      {"version", plugin.version},
                                                      {"ABI", plugin.abi},
                                                      {"CPU features", Joined(plugin.cpu_features)},
                                                      {"libraries", Joined(plugin.libraries)},
                                                      {"opens", OpenedText(plugin)},
                                                      {"files", Joined(plugin.files)},
                                                      {"environment", Joined(plugin.environment)},
                                                      {"sandbox", SandboxText(plugin)},
                                                      {"refused calls", Joined(plugin.refused_calls)},
                                                      {"lock", LockText(plugin)}};
  for (const auto& [name, value] : rows)
    if (!value.empty()) table.Add(name, value);
  text += table.Text(terminal, "  ");
  for (const PluginDelegateReport& delegate : plugin.delegates) text += DelegateText(plugin, delegate, terminal);
  return text;
}

}  // namespace deputy::cli
