#include "runtime/config_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "runtime/paths.hpp"

namespace deputy {
namespace host {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSystemConfig = "/etc/deputy/deputy.yaml";
constexpr std::string_view kEnding = ".yaml";

fs::path ShippedFolder() { return ShareFolder() / "configs"; }

fs::path SystemConfig() { return Environment("DEPUTY_SYSTEM_CONFIG").value_or(kSystemConfig); }

fs::path UserConfig() {
  const std::optional<fs::path> folder = UserFolder("XDG_CONFIG_HOME", ".config");
  return folder ? *folder / "deputy" / "deputy.yaml" : fs::path();
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return !path.empty() && fs::exists(fs::symlink_status(path, ignored));
}

bool IsPlainName(std::string_view text) { return !text.empty() && text.find_first_of("/.") == std::string_view::npos; }

}  // namespace

void AddNamed(const std::string& named, ConfigLoader& loader) {
  if (std::string shipped = IsPlainName(named) ? ShippedConfigFile(named) : ""; !shipped.empty())
    return loader.AddFile(shipped);
  if (!IsPlainName(named) || Exists(named)) return loader.AddFileWithDropIns(named);
  const std::vector<std::string> names = ShippedConfigs();
  loader.AddUnreadable(named, fmt::format("is neither a file nor a shipped configuration{} (shipped: {})",
                                          DidYouMean(named, names), fmt::join(names, ", ")));
}

std::string AddLayers(const ConfigSources& sources, ConfigLoader& loader) {
  const fs::path system = SystemConfig(), user = UserConfig();
  const std::string chosen = Environment("DEPUTY_CONFIG").value_or("");
  std::string note;
  // Drop-ins alone extend the default: a package that adds a delegate does not take the others away.
  if (sources.files.empty() && chosen.empty() && !Exists(system) && !Exists(user)) {
    if (const std::string shipped = ShippedConfigFile("default"); !shipped.empty()) {
      loader.AddFile(shipped);
      note = fmt::format("no configuration is given or installed; using {}", shipped);
    }
  }
  for (const fs::path& installed : {system, user})
    if (!installed.empty()) loader.AddInstalled(installed);
  if (!chosen.empty()) AddNamed(chosen, loader);
  for (const std::string& file : sources.files) AddNamed(file, loader);
  for (const std::string& setting : sources.settings) loader.AddSetting(setting);
  return note;
}

}  // namespace host

std::vector<std::string> ShippedConfigs() {
  std::vector<std::string> names;
  std::error_code error;
  for (host::fs::directory_iterator entry(host::ShippedFolder(), error);
       !error && entry != host::fs::directory_iterator(); entry.increment(error))
    if (entry->path().extension() == host::kEnding) names.push_back(entry->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string ShippedConfigFile(const std::string& name) {
  const host::fs::path file = host::ShippedFolder() / (name + std::string(host::kEnding));
  std::error_code ignored;
  return host::fs::is_regular_file(file, ignored) ? file.string() : "";
}

}  // namespace deputy
