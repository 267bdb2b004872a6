#include "runtime/config_layers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/file.hpp"
#include "base/judged_file.hpp"
#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "config/merge.hpp"
#include "config/reader.hpp"
#include "runtime/paths.hpp"

namespace deputy {
namespace host {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSystemConfig = "/etc/deputy/deputy.yaml";
constexpr std::string_view kEnding = ".yaml";

std::string CheckWish() { return Environment("DEPUTY_CHECK").value_or(""); }

fs::path ShippedFolder() { return ShareFolder() / "configs"; }

// Where packages of delegates add theirs: with the folder's files they go without a trace.
ConfigLoader::DropInFolder PackageDropIns() { return {ShareFolder() / "conf.d", OfInstallation()}; }

fs::path UserConfig() {
  const std::optional<fs::path> folder = UserFolder("XDG_CONFIG_HOME", ".config");
  if (!folder) return {};
  // A service may have the home of another user, whose configuration is not for it.
  const fs::path file = *folder / "deputy" / "deputy.yaml";
  std::error_code error;
  (void)fs::status(file.parent_path(), error);
  return error == std::errc::permission_denied ? fs::path() : file;
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return !path.empty() && fs::exists(fs::symlink_status(path, ignored));
}

bool IsPlainName(std::string_view text) { return !text.empty() && text.find_first_of("/.") == std::string_view::npos; }

// The file that $DEPUTY_SYSTEM_CONFIG names, with its conf.d. Unlike /etc/deputy/deputy.yaml it must exist: rules of
// the system do not end with a mistake in its name.
void AddNamedSystem(const fs::path& file, ConfigLoader& loader) {
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::not_found)
    return loader.AddFileWithDropIns(file, {}, PackageDropIns());
  const std::string name = file.string();
  if (IsPlainName(name) && !ShippedConfigFile(name).empty())
    return loader.AddUnreadable(name,
                                "does not exist; DEPUTY_SYSTEM_CONFIG names it by its path, and DEPUTY_CONFIG "
                                "accepts the names of shipped configurations");
  loader.AddUnreadable(name, "does not exist; DEPUTY_SYSTEM_CONFIG names it, and an empty value stands for no file");
}

}  // namespace

std::string ShippedWith(const std::string& entry) {
  std::vector<std::string> names = ShippedConfigs();
  // The general ones first.
  std::stable_partition(names.begin(), names.end(), [](const auto& name) { return name == "npu-first"; });
  std::stable_partition(names.begin(), names.end(), [](const auto& name) { return name == "default"; });
  for (const std::string& name : names) {
    const Result<std::string> text = ReadTrustedFile(ShippedConfigFile(name), kMostConfigBytes, OfInstallation());
    Problems ignored;
    const std::optional<YamlNode> root = text.ok() ? ReadYaml(*text, name, /*lines=*/false, ignored) : std::nullopt;
    if (!root) continue;
    const std::vector<std::string> entries = DelegateNames(*root);
    if (std::find(entries.begin(), entries.end(), entry) != entries.end())
      return fmt::format("; the shipped configuration '{0}' has it: add '--config {0}' in front", name);
  }
  return {};
}

std::string NamesNoDelegates(const Config& config, const std::vector<fs::path>& files) {
  if (files.empty() || !config.delegates.empty() || *config.plugins.auto_use != AutoUse::kOff) return {};
  if (config.delegates.origin.source != Origin().source) return {};  // `delegates: []`
  return "no layer has 'delegates', so that the CPU runs every node; '--config default' in front adds those of the "
         "installation, and 'delegates: []' states that there are none";
}

Judgement JudgementOf(const fs::path& file) {
  std::error_code ignored;
  const auto is_below = [](const fs::path& path, const fs::path& folder) {
    const fs::path below = path.lexically_relative(folder);
    return !below.empty() && *below.begin() != "..";
  };
  // By its text, which others cannot change, and as the system follows it: ".." behind a link leads elsewhere.
  const bool is_installed = is_below(fs::absolute(file, ignored).lexically_normal(), ShareFolder()) &&
                            is_below(fs::weakly_canonical(file, ignored), fs::weakly_canonical(ShareFolder(), ignored));
  return is_installed ? OfInstallation() : Judgement();
}

void AddPath(const std::string& path, ConfigLoader& loader) {
  if (Exists(path) || !IsPlainName(path) || ShippedConfigFile(path).empty())
    return loader.AddFileWithDropIns(path, JudgementOf(path));
  loader.AddUnreadable(path, fmt::format("does not exist; the shipped configuration of this name is read by "
                                         "Context::FromLayers({{.files = {{\"{}\"}}}})",
                                         path));
}

void AddNamed(const std::string& named, ConfigLoader& loader) {
  loader.SetElsewhere(ShippedWith);
  if (std::string shipped = IsPlainName(named) ? ShippedConfigFile(named) : ""; !shipped.empty())
    return loader.AddFile(shipped, OfInstallation());
  const fs::path path(named);
  if (!Exists(path) && path.extension() == kEnding && !ShippedConfigFile(path.stem().string()).empty())
    return loader.AddUnreadable(
        named, fmt::format("does not exist; the shipped configuration is called '{}'", path.stem().string()));
  if (!IsPlainName(named) || Exists(named)) return loader.AddFileWithDropIns(named, JudgementOf(named));
  const std::vector<std::string> names = ShippedConfigs();
  loader.AddUnreadable(named, fmt::format("is neither a file nor a shipped configuration{} (shipped: {})",
                                          DidYouMean(named, names), fmt::join(names, ", ")));
}

std::vector<std::string> EnvironmentWarnings() {
  constexpr std::string_view kPrefix = "DEPUTY_";
  constexpr std::string_view kKnown[] = {"BUNDLE", "BUNDLES", "CHECK", "CONFIG", "SYSTEM_CONFIG"};
  constexpr size_t kMostEdits = 2;
  // "CONFIG" of "DEPUTY_CONFIG", "deputy_config" and "DEPUTYCONFIG"; empty for names of others.
  const auto ending_of = [](const std::string& name) -> std::string {
    std::string upper = name;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    constexpr std::string_view kProduct = "DEPUTY";
    if (upper.rfind(kProduct, 0) != 0) return {};
    upper.erase(0, kProduct.size());
    return upper.rfind('_', 0) == 0 ? upper.substr(1) : upper;
  };
  std::vector<std::string> warnings;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string name(text.substr(0, text.find('=')));
    const std::string ending = ending_of(name);
    if (ending.empty() || !Environment(name.c_str())) continue;
    // Others have such names as well: only what may be a mistake is worth a message.
    std::string meant = NearestMatch(ending, kKnown);
    const size_t shorter = std::min(ending.size(), meant.size()), longer = std::max(ending.size(), meant.size());
    if (longer - shorter > kMostEdits) meant.clear();
    for (const std::string_view known : kKnown)
      if (meant.empty() && (ending == std::string(known) + "_FILE" || ending == std::string(known) + "_PATH"))
        meant = known;
    if (meant.empty() || std::string(kPrefix) + meant == name) continue;
    warnings.push_back(
        fmt::format("environment variable {} has no effect; did you mean '{}{}'?", Printable(name), kPrefix, meant));
  }
  if (const std::string wish = CheckWish(); wish != "1" && wish != "0" && !wish.empty())
    warnings.push_back(fmt::format("DEPUTY_CHECK={} has no effect: it must be 0 or 1", Printable(wish)));
  return warnings;
}

bool ChecksByEnvironment() { return CheckWish() == "1"; }

std::string AddLayers(const ConfigSources& sources, ConfigLoader& loader) {
  const std::optional<std::string> named_system = Environment("DEPUTY_SYSTEM_CONFIG");
  const fs::path system = named_system.value_or(kSystemConfig), user = UserConfig();
  const std::string chosen = Environment("DEPUTY_CONFIG").value_or("");
  loader.SetElsewhere(ShippedWith);
  std::string note;
  // Drop-ins alone extend the default: a package that adds a delegate does not take the others away.
  if (sources.files.empty() && chosen.empty() && !Exists(system) && !Exists(user)) {
    if (const std::string shipped = ShippedConfigFile("default"); !shipped.empty()) {
      loader.AddFile(shipped, OfInstallation());
      note = fmt::format("no configuration is given or installed; using {}", shipped);
    }
  }
  if (named_system) {
    if (!named_system->empty()) AddNamedSystem(system, loader);
  } else {
    loader.AddInstalled(system, PackageDropIns());
  }
  if (!user.empty()) loader.AddInstalled(user);
  if (!note.empty() && loader.files().size() > 1) {
    note = "no configuration is given, and only drop-ins are installed; using";
    for (const fs::path& file : loader.files()) note += (&file == &loader.files().front() ? " " : ", ") + file.string();
  }
  if (!chosen.empty()) AddNamed(chosen, loader);
  for (const std::string& file : sources.files) AddNamed(file, loader);
  for (const std::string& setting : sources.settings) loader.AddSetting(setting);
  return note;
}

}  // namespace host

std::vector<std::string> ShippedConfigs() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const host::fs::path& file : host::PathsIn(host::ShippedFolder(), ignored))
    if (file.extension() == host::kEnding) names.push_back(file.stem().string());
  return names;
}

std::string ShippedConfigFile(const std::string& name) {
  const host::fs::path file = host::ShippedFolder() / (name + std::string(host::kEnding));
  std::error_code ignored;
  return host::fs::is_regular_file(file, ignored) ? file.string() : "";
}

}  // namespace deputy
