#include "cli/report/bundle_report.hpp"

#include <filesystem>
#include <map>
#include <utility>

#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "deputy/config.hpp"

namespace deputy::cli {
namespace {

constexpr const char* kDescription = "bundle.json";
constexpr size_t kShownDigits = 12;  // of a SHA-256; --json has all

using Items = std::map<std::string, std::string>;

void AddDifferences(const char* kind, const Items& before, const Items& after, std::vector<BundleDifference>& all) {
  Items names = before;
  names.insert(after.begin(), after.end());
  for (const auto& [name, any] : names) {
    const auto old = before.find(name), now = after.find(name);
    if (old != before.end() && now != after.end() && old->second == now->second) continue;
    BundleDifference& difference = all.emplace_back(BundleDifference{kind, name, {}, {}, {}, {}});
    if (old != before.end()) difference.before = old->second;
    if (now != after.end()) difference.after = now->second;
  }
}

Items PluginsOf(const BundleInfo& info) {
  Items items;
  for (const BundlePlugin& plugin : info.plugins)
    items[plugin.id] = plugin.version + ", ABI " + plugin.abi + ", delegates " + Joined(plugin.delegates);
  return items;
}

Items FilesOf(const BundleInfo& info) {
  Items items;
  for (const BundleFile& file : info.files)
    if (file.path != kDescription) items[file.path] = file.sha256;
  return items;
}

std::vector<ConfigText> LayersOf(const BundleInfo& info) {
  std::vector<ConfigText> layers;
  for (const std::string& path : info.configurations)
    for (const BundleFile& file : info.files)
      if (file.path == path) layers.push_back({path, file.text});
  return layers;
}

// The problem names the bundle whose configuration cannot be read here.
Items ValuesOf(const BundleInfo& info, const std::vector<ConfigText>& layers, std::string& problem) {
  Items items;
  const Result<std::vector<ConfigValue>> values = ConfigValues(layers);
  if (!values.ok()) {
    problem = fmt::format("{}: {}", BundleTitle(info), values.status().ToString());
    return items;
  }
  for (const ConfigValue& value : *values) items[value.path] = value.value;
  return items;
}

// All layers of each together, as a run reads them. Files may differ in comments alone, or in what a later one sets.
void AddConfigurations(const BundleInfo& before, const BundleInfo& after, std::vector<BundleDifference>& all) {
  const std::vector<ConfigText> old = LayersOf(before), now = LayersOf(after);
  if (old == now) return;
  BundleDifference difference{
      "configuration", "all layers", Joined(before.configurations), Joined(after.configurations), {}, {}};
  const Items old_values = ValuesOf(before, old, difference.problem);
  const Items values = difference.problem.empty() ? ValuesOf(after, now, difference.problem) : Items();
  if (difference.problem.empty()) AddDifferences("value", old_values, values, difference.values);
  if (!difference.problem.empty() || !difference.values.empty()) all.push_back(std::move(difference));
}

}  // namespace

std::vector<BundleDifference> CompareBundles(const BundleInfo& before, const BundleInfo& after) {
  std::vector<BundleDifference> differences;
  AddDifferences("plugin", PluginsOf(before), PluginsOf(after), differences);
  AddDifferences("file", FilesOf(before), FilesOf(after), differences);
  AddConfigurations(before, after, differences);
  return differences;
}

Json ToJson(const BundleInfo& info) {
  Json plugins = Json::array(), files = Json::array();
  for (const BundlePlugin& plugin : info.plugins)
    plugins.push_back({{"file", plugin.file},
                       {"id", plugin.id},
                       {"version", plugin.version},
                       {"abi", plugin.abi},
                       {"delegates", plugin.delegates},
                       {"cpu_features", plugin.cpu_features},
                       {"libraries", plugin.libraries},
                       {"files", plugin.files}});
  for (const BundleFile& file : info.files)
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  return {{"name", info.name},
          {"version", info.version},
          {"deputy", info.deputy},
          {"architecture", info.architecture},
          {"signed_by", info.signed_by.empty() ? Json() : Json(info.signed_by)},
          {"expires", info.expires.empty() ? Json() : Json(info.expires)},
          {"configurations", info.configurations},
          {"models", info.models},
          {"plugins", std::move(plugins)},
          {"files", std::move(files)}};
}

Json ToJson(const BundleVerification& verification) {
  Json problems = Json::array();
  for (const BundleProblem& problem : verification.problems)
    problems.push_back({{"rule", problem.rule}, {"message", problem.message}});
  return {{"passed", verification.problems.empty()},
          {"signature_checked", verification.signature_checked},
          {"problems", std::move(problems)},
          {"contents", verification.info.name.empty() ? Json() : ToJson(verification.info)}};
}

Json ToJson(const std::vector<BundleDifference>& differences) {
  Json json = Json::array();
  for (const BundleDifference& difference : differences)
    json.push_back({{"kind", difference.kind},
                    {"name", difference.name},
                    {"before", difference.before ? Json(*difference.before) : Json()},
                    {"after", difference.after ? Json(*difference.after) : Json()},
                    {"values", ToJson(difference.values)},
                    {"problem", difference.problem}});
  return json;
}

Json ToJson(const std::vector<InstalledBundle>& bundles) {
  Json json = Json::array();
  for (const InstalledBundle& bundle : bundles)
    json.push_back(
        {{"name", bundle.name}, {"version", bundle.version}, {"folder", bundle.folder}, {"current", bundle.current}});
  return json;
}

std::string BundleTitle(const BundleInfo& info) { return info.name + " " + info.version; }

std::string SignerText(const BundleInfo& info) {
  return info.expires.empty() ? info.signed_by : info.signed_by + " until " + info.expires;
}

uint64_t TotalBytes(const BundleInfo& info) {
  uint64_t bytes = 0;
  for (const BundleFile& file : info.files) bytes += file.bytes;
  return bytes;
}

Shown BundleText(const BundleInfo& info, const Terminal& terminal) {
  Shown text = Paragraph(
      terminal, "",
      Show("{}, for {}, packed by Deputy {}, {}", terminal.Paint(Paint::kBold, BundleTitle(info)), info.architecture,
           info.deputy, info.signed_by.empty() ? "not signed" : "signed by " + SignerText(info)));
  for (const BundlePlugin& plugin : info.plugins) {
    text += Show("\n{}", Paragraph(terminal, "",
                                   Show("plugin {} {}, ABI {}: delegates {}", plugin.id, plugin.version, plugin.abi,
                                        Joined(plugin.delegates))));
    if (!plugin.cpu_features.empty())
      text += Paragraph(terminal, "  ", Show("needs of the CPU: {}", Joined(plugin.cpu_features)));
    if (!plugin.libraries.empty())
      text += Paragraph(terminal, "  ", Show("needs the libraries: {}", Joined(plugin.libraries)));
  }
  Table table({{"file"}, {"size", Align::kRight}, {"SHA-256", Align::kLeft, Fit::kMiddle, 1}});
  for (const BundleFile& file : info.files)
    table.AddRow({file.path, BytesText(file.bytes), file.sha256.substr(0, kShownDigits)});
  text += Show("\n{}", table.Text(terminal, ""));
  text += Show("{} in {}\n", BytesText(TotalBytes(info)), Plural(info.files.size(), "file"));
  return text;
}

std::optional<BundleFileName> SplitBundleFileName(const std::string& path) {
  const std::filesystem::path file = std::filesystem::path(path).filename();
  if (file.extension() != ".dpb") return std::nullopt;
  const std::string stem = file.stem().string();
  for (size_t dash = stem.find('-'); dash != std::string::npos; dash = stem.find('-', dash + 1)) {
    if (dash == 0 || dash + 1 == stem.size() || stem[dash + 1] < '0' || stem[dash + 1] > '9') continue;
    return BundleFileName{stem.substr(0, dash), stem.substr(dash + 1)};
  }
  return std::nullopt;
}

}  // namespace deputy::cli
