// Bundles in the public API: finds installed ones, makes contexts of them, and leaves the rest to the library of
// bundles.
#include "deputy/bundle.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/checksums.hpp"
#include "base/file.hpp"
#include "base/judged_file.hpp"
#include "base/nearest.hpp"
#include "base/sha256.hpp"
#include "bundle/places.hpp"
#include "config/loader.hpp"
#include "runtime/bundle_tools.hpp"
#include "runtime/config_layers.hpp"
#include "runtime/context_state.hpp"
#include "runtime/entry.hpp"
#include "runtime/paths.hpp"
#include "runtime/placement_file.hpp"
#include "runtime/scan.hpp"

namespace deputy {
namespace host {

Result<const BundleTools*> OpenBundleTools() {
  const std::filesystem::path path = PrivateFolder() / "libdeputy_bundle.so";
  DEPUTY_RETURN_IF_ERROR(CheckInstalledFile(path));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr)
    return Error(StatusCode::kNotFound, "the library of bundles cannot be opened: {}", dlerror())
        .Advise("install it, or unpack the bundle on a machine that has it");
  const auto entry = reinterpret_cast<BundleFunction>(dlsym(library, kBundleSymbol));
  const BundleTools* tools = entry == nullptr ? nullptr : entry(kBundleBuild);
  if (tools == nullptr)
    return Error(StatusCode::kIncompatible, "the library belongs to another build of Deputy").At(path.string());
  return tools;
}

namespace {

namespace fs = std::filesystem;

constexpr char kSystemRoot[] = "/var/lib/deputy/bundles";

// Where a bundle is searched for.
std::vector<fs::path> Roots(const std::string& root) {
  if (!root.empty()) return {root};
  if (const std::string folder = Environment("DEPUTY_BUNDLES").value_or(""); !folder.empty()) return {folder};
  std::vector<fs::path> roots;
  if (geteuid() != 0)
    if (const std::optional<fs::path> data = UserFolder("XDG_DATA_HOME", ".local/share"))
      roots.push_back(*data / "deputy" / "bundles");
  roots.emplace_back(kSystemRoot);
  return roots;
}

// All files of the list.
Result<Checksums> ListedIn(const fs::path& root) {
  DEPUTY_ASSIGN_OR_RETURN(const std::string text,
                          ReadTrustedFile(root / kChecksumsName, kMostChecksumBytes, {.strict = true}));
  return ParseChecksums(text);
}

bool IsConfiguration(const std::string& path) { return path.starts_with(std::string(kBundleConfigFolder) + "/"); }

// A folder of the cache that is relative to the files would be inside of the bundle, or follow from where it is
// unpacked: with another folder for the files it is another one.
Status CheckCacheFolder(const std::vector<fs::path>& files, const Config& config) {
  ConfigLoader elsewhere;
  for (const fs::path& file : files) {
    DEPUTY_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, kMostConfigBytes));
    elsewhere.AddText(file.string(), text, "/a/folder/in/which/no/configuration/is/kept");
  }
  const Result<Config> other = elsewhere.Finish();
  if (!other.ok() || *other->cache.dir == *config.cache.dir) return {};
  return Error(StatusCode::kConfig, "the folder of 'cache: {{dir}}' is relative in a bundle")
      .At(config.cache.dir.origin.ToString())
      .Advise("name an absolute folder, auto or off: an installed version is never written to");
}

// kFailedPrecondition for an unpacked bundle of which users other than root and this one could change or replace a
// file, or add one to a folder.
Status CheckContents(const fs::path& folder, const Checksums& listed) {
  for (const char* name : {kBundleConfigFolder, kBundleModelFolder, kBundlePluginFolder})
    DEPUTY_RETURN_IF_ERROR(CheckTrusted(folder / name));
  for (const auto& [path, digest] : listed) {
    if (!IsPlaceInBundle(path))
      return Error(StatusCode::kConfig, "the file '{}' has no place in a bundle", path).At(folder.string());
    DEPUTY_RETURN_IF_ERROR(CheckTrusted(folder / path));
  }
  return {};
}

// All reasons against an unpacked bundle that this host can name before a delegate is opened.
void CheckOnThisHost(const fs::path& unpacked, std::vector<BundleProblem>& problems) {
  std::error_code error;
  const fs::path folder = fs::canonical(unpacked, error);  // as the scan reports files
  const Result<Checksums> listed = ListedIn(folder);
  if (const Status status = listed.ok() ? CheckContents(folder, *listed) : Status(); !status.ok()) {
    std::string message = status.ToString();
    if (message.starts_with(folder.string() + "/")) message.erase(0, folder.string().size() + 1);
    const bool is_untrusted = status.code() == StatusCode::kFailedPrecondition;
    return problems.push_back(
        {is_untrusted ? std::string(NameOf(RejectReason::kUntrusted)) : "unsafe-path", std::move(message)});
  }
  Result<Context> context = Context::FromBundle(folder.string() + "/");
  if (!context.ok()) return problems.push_back({"configuration", context.status().ToString()});
  const Config& config = Context::State::Of(*context).config;
  if (listed.ok()) {
    std::vector<fs::path> files;
    for (const auto& [path, digest] : *listed)
      if (IsConfiguration(path)) files.push_back(folder / path);
    if (Status status = CheckCacheFolder(files, config); !status.ok())
      return problems.push_back({"configuration", status.ToString()});
  }
  ApplyLogLevels(config.log);
  PluginRegistry registry;
  const ScanOptions options = MakeScanOptions(config);
  registry.Scan(options);
  for (const PluginEntry* entry : registry.entries())
    // A bundle without plugins has no folder for them.
    if (!entry->accepted && !(entry->reason == RejectReason::kMissing && entry->path == options.paths.front()))
      problems.push_back(
          {std::string(NameOf(entry->reason)), entry->path.lexically_relative(folder).string() + ": " + entry->text});
  if (!problems.empty()) return;  // without its plugin an entry cannot be checked
  for (const DelegateConfig& config_entry : config.delegates) {
    if (!*config_entry.enabled) continue;
    const Entry entry = EntryFromConfig(config_entry);
    const EntryCheck check = CheckEntry(registry, entry);
    for (const Problem& mistake : check.mistakes) problems.push_back({"configuration", mistake.ToString()});
    if (!check.unusable.ok() && (check.provider == nullptr || entry.required))
      problems.push_back({"configuration", check.unusable.ToString()});
  }
}

// The file or folder that a command's BUNDLE means.
Result<fs::path> PlaceOf(const std::string& bundle) {
  std::error_code ignored;
  if (bundle.find('/') != std::string::npos || fs::is_regular_file(bundle, ignored)) return fs::path(bundle);
  DEPUTY_ASSIGN_OR_RETURN(const InstalledBundle found, FindBundle(bundle));
  return fs::path(found.folder);
}

}  // namespace
}  // namespace host

namespace {

Result<std::shared_ptr<Context::State>> ReadBundle(const std::string& bundle,
                                                   const std::vector<std::string>& settings) {
  namespace fs = std::filesystem;
  const std::string name = bundle.empty() ? host::Environment("DEPUTY_BUNDLE").value_or("") : bundle;
  if (name.empty()) return Status(StatusCode::kInvalidArgument, "no bundle is named");
  DEPUTY_ASSIGN_OR_RETURN(const InstalledBundle found, FindBundle(name));
  const fs::path folder = found.folder;
  DEPUTY_ASSIGN_OR_RETURN(const host::Checksums listed, host::ListedIn(folder));
  DEPUTY_RETURN_IF_ERROR(host::CheckContents(folder, listed));
  host::ConfigLoader loader;
  std::vector<std::string> files;
  for (const auto& [path, digest] : listed) {
    if (!host::IsConfiguration(path)) continue;
    const fs::path file = folder / path;
    DEPUTY_ASSIGN_OR_RETURN(const std::string text, host::ReadTrustedFile(file, host::kMostConfigBytes));
    if (host::Sha256().Add({reinterpret_cast<const uint8_t*>(text.data()), text.size()}).Finish() != digest)
      return host::Error(StatusCode::kConfig, "was changed: its SHA-256 is not the one in {}", host::kChecksumsName)
          .At(file.string())
          .Advise("install the bundle again");
    loader.AddText(file.string(), text, file.parent_path());
    files.push_back(file.string());
  }
  for (const std::string& setting : settings) loader.AddSetting(setting);
  loader.AddApiSetting("plugins.trust", "listed");
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<Context::State> state, Context::State::From(loader));
  const host::Origin origin{"bundle " + found.name, 0, 0};
  state->config.plugins.paths.origin = origin;
  state->config.plugins.paths.items.assign(1, {(folder / host::kBundlePluginFolder).string(), origin});
  state->files = std::move(files);
  // Another version becomes the current one by another link.
  std::error_code ignored;
  const fs::path link = found.current ? folder.parent_path() / "current" : fs::absolute(name, ignored);
  state->places = {link.has_filename() ? link : link.parent_path(), folder / host::kChecksumsName};
  return state;
}

}  // namespace

Result<Context> Context::FromBundle(const std::string& bundle, const std::vector<std::string>& settings) {
  Context context;
  DEPUTY_ASSIGN_OR_RETURN(context.state_, ReadBundle(bundle, settings));
  std::error_code ignored;  // the working directory may change
  const bool is_path = bundle.find('/') != std::string::npos;
  context.state_->read_again = [again = is_path ? std::filesystem::absolute(bundle, ignored).string() : bundle,
                                settings] { return ReadBundle(again, settings); };
  return context;
}

std::string BundleRoot(const std::string& root) { return host::Roots(root).front().string(); }

Result<InstalledBundle> FindBundle(const std::string& bundle, const std::string& root) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (bundle.find('/') != std::string::npos) {
    const fs::path folder = fs::canonical(bundle, error);
    if (error || !fs::is_regular_file(folder / host::kChecksumsName, error))
      return Status(StatusCode::kNotFound, "is not the folder of an unpacked bundle").At(bundle);
    DEPUTY_RETURN_IF_ERROR(host::CheckTrusted(bundle));
    return InstalledBundle{folder.parent_path().filename().string(), folder.filename().string(), folder.string(),
                           false};
  }
  std::vector<std::string> known;
  for (const fs::path& place : host::Roots(root)) {
    const fs::path installed = bundle.empty() ? fs::path() : place / bundle;
    if (!bundle.empty() && fs::is_directory(installed, error)) {
      // Others could put another version there.
      for (const fs::path& path : {place, installed}) DEPUTY_RETURN_IF_ERROR(host::CheckTrusted(path));
      // The version is resolved once: a context keeps it when another one becomes the current one.
      const std::string version = fs::read_symlink(installed / "current", error).string();
      if (version.empty() || version.find('/') != std::string::npos || version.front() == '.' ||
          !fs::is_directory(installed / version, error))
        return host::Error(StatusCode::kNotFound, "bundle '{}' has no version in use: {} is not a link to one", bundle,
                           (installed / "current").string())
            .Advise(fmt::format("'deputy bundle rollback {} VERSION' chooses one, 'deputy bundle list' lists them",
                                bundle));
      DEPUTY_RETURN_IF_ERROR(host::CheckTrusted(installed / version));
      return InstalledBundle{bundle, version, fs::absolute(installed / version, error).string(), true};
    }
    for (const fs::path& path : host::PathsIn(place, error))
      if (path.filename().string().front() != '.') known.push_back(path.filename().string());
  }
  return host::Error(StatusCode::kNotFound, "no bundle '{}' is installed{}", bundle,
                     host::DidYouMean(bundle, std::span<const std::string>(known)))
      .Advise("'deputy bundle list' lists the installed ones");
}

Result<BundleInfo> PackBundle(const BundleContents& contents, const std::string& output) {
  host::ConfigLoader loader;
  for (const std::string& file : contents.configurations) host::AddNamed(file, loader);
  DEPUTY_ASSIGN_OR_RETURN(const host::Config config, loader.Finish());
  DEPUTY_RETURN_IF_ERROR(host::CheckCacheFolder(loader.files(), config));
  host::ScanOptions options = host::MakeScanOptions(config);
  options.probe = false;
  options.named.emplace();
  for (const host::DelegateConfig& entry : config.delegates)
    if (*entry.enabled) options.named->push_back(entry.id());
  host::PluginRegistry registry;
  registry.Scan(options);
  host::BundleSources sources{contents.name,       contents.version, loader.files(), {}, {},
                              contents.secret_key, contents.expires};
  for (const host::DelegateConfig& entry : config.delegates) {
    if (!*entry.enabled) continue;
    const host::PluginEntry* plugin = registry.ProviderOf(entry.id());
    if (plugin == nullptr) {
      std::string refusal = registry.RefusalOf(entry.id());
      return host::Error(StatusCode::kPlugin, "no plugin offers the delegate '{}'", entry.id())
          .At(entry.name.origin.ToString())
          .Advise(refusal.empty() ? "a bundle has the plugins of all enabled entries" : std::move(refusal));
    }
    if (std::find(sources.plugins.begin(), sources.plugins.end(), plugin->path) == sources.plugins.end())
      sources.plugins.push_back(plugin->path);
  }
  for (const std::filesystem::path model : contents.models) {
    sources.models.push_back(model);
    const std::filesystem::path placement = host::PlacementFileOf(model);
    std::error_code error;
    if (std::filesystem::is_regular_file(placement, error)) sources.models.push_back(placement);
  }
  DEPUTY_ASSIGN_OR_RETURN(const host::BundleTools* tools, host::OpenBundleTools());
  return tools->Pack(sources, output);
}

Result<BundleInfo> InspectBundle(const std::string& bundle) {
  DEPUTY_ASSIGN_OR_RETURN(const std::filesystem::path place, host::PlaceOf(bundle));
  DEPUTY_ASSIGN_OR_RETURN(const host::BundleTools* tools, host::OpenBundleTools());
  return tools->Inspect(place);
}

Result<BundleVerification> VerifyBundle(const std::string& bundle, const std::string& key) {
  DEPUTY_ASSIGN_OR_RETURN(const std::filesystem::path place, host::PlaceOf(bundle));
  DEPUTY_ASSIGN_OR_RETURN(const host::BundleTools* tools, host::OpenBundleTools());
  return tools->Verify(place, key, host::CheckOnThisHost);
}

Result<BundleVerification> InstallBundle(const std::string& file, const std::string& key, const std::string& root) {
  return InstallBundle(file, BundleInstallation{key, root});
}

Result<BundleVerification> InstallBundle(const std::string& file, const BundleInstallation& installation) {
  DEPUTY_ASSIGN_OR_RETURN(const host::BundleTools* tools, host::OpenBundleTools());
  return tools->Install(file, installation.key, host::Roots(installation.root).front(), host::CheckOnThisHost,
                        installation.allow_downgrade);
}

Result<InstalledBundle> RollBackBundle(const std::string& name, const std::string& version, const std::string& root) {
  DEPUTY_ASSIGN_OR_RETURN(const host::BundleTools* tools, host::OpenBundleTools());
  return tools->RollBack(host::Roots(root).front(), name, version);
}

Status RemoveBundle(const std::string& name, const std::string& version, const std::string& root) {
  DEPUTY_ASSIGN_OR_RETURN(const host::BundleTools* tools, host::OpenBundleTools());
  return tools->Remove(host::Roots(root).front(), name, version);
}

Result<std::vector<InstalledBundle>> ListBundles(const std::string& root) {
  DEPUTY_ASSIGN_OR_RETURN(const host::BundleTools* tools, host::OpenBundleTools());
  std::vector<InstalledBundle> all;
  for (const std::filesystem::path& place : host::Roots(root)) {
    DEPUTY_ASSIGN_OR_RETURN(std::vector<InstalledBundle> bundles, tools->List(place));
    all.insert(all.end(), bundles.begin(), bundles.end());
  }
  return all;
}

Status MakeBundleKeys(const std::string& secret_key, const std::string& public_key) {
  DEPUTY_ASSIGN_OR_RETURN(const host::BundleTools* tools, host::OpenBundleTools());
  return tools->MakeKeys(secret_key, public_key);
}

}  // namespace deputy
