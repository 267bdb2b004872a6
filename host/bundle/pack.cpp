#include "bundle/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/printable.hpp"
#include "base/sha256.hpp"
#include "bundle/archive.hpp"
#include "bundle/contents.hpp"
#include "bundle/signature.hpp"
#include "bundle/tools.hpp"
#include "deputy/version.hpp"
#include "plugin/discovery/elf_image.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/plugin_file.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

template <class T>
Result<T> ToResult(Checked<T> checked, const fs::path& file) {
  if (Rejection* rejection = std::get_if<Rejection>(&checked))
    return Status(StatusCode::kPlugin, std::move(rejection->text)).At(file.string());
  return std::get<T>(std::move(checked));
}

class Packer {
 public:
  Packer(const BundleSources& sources, std::chrono::sys_days today) : sources_(sources), today_(today) {
    info_.name = sources.name;
    info_.version = sources.version;
    info_.deputy = DEPUTY_VERSION;
    info_.architecture = MachineName(ThisMachine());
  }

  Result<BundleInfo> Run(const fs::path& output) {
    DEPUTY_RETURN_IF_ERROR(CheckName(info_.name));
    DEPUTY_RETURN_IF_ERROR(CheckVersion(info_.version));
    DEPUTY_RETURN_IF_ERROR(CheckExpiry());
    size_t number = 0;
    for (const fs::path& file : sources_.configurations)  // the numbers keep the order of the layers
      DEPUTY_RETURN_IF_ERROR(
          Add(fmt::format("{}/{:02}-{}", kBundleConfigFolder, ++number, file.filename().string()), file));
    for (const fs::path& file : sources_.models)
      DEPUTY_RETURN_IF_ERROR(Add(fmt::format("{}/{}", kBundleModelFolder, file.filename().string()), file));
    for (const fs::path& file : sources_.plugins) DEPUTY_RETURN_IF_ERROR(AddPlugin(file));
    DropOwnLibraries();
    return Write(output);
  }

 private:
  Status CheckExpiry() const {
    const std::string& expires = sources_.expires;
    if (expires.empty()) return {};
    if (sources_.secret_key.empty())
      return Error(StatusCode::kInvalidArgument, "only a signature can expire, and the bundle is not signed");
    const std::optional<std::chrono::sys_days> day = ParseDay(expires);
    if (!day)
      return Error(StatusCode::kInvalidArgument, "the last day of the signature, '{}', is not a day (YYYY-MM-DD)",
                   Printable(expires));
    if (*day < today_)
      return Error(StatusCode::kInvalidArgument, "the last day of the signature, {}, is past: today is {} (UTC)",
                   expires, DayText(today_));
    return {};
  }

  Status Add(const std::string& path, const fs::path& source) {
    if (Status status = CheckRelativePath(path); !status.ok())
      return std::move(status).WithCode(StatusCode::kInvalidArgument).At(source.string());
    DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(source));
    if (!files_.emplace(path, std::move(file)).second)
      return Error(StatusCode::kInvalidArgument, "another file is packed as '{}', too", path).At(source.string());
    return {};
  }

  Status AddPlugin(const fs::path& found) {
    std::error_code error;
    const fs::path folder = fs::canonical(found, error).parent_path();  // where its files are
    if (error) return Error(StatusCode::kNotFound, "{}", error.message()).At(found.string());
    DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<PluginFile> file, ToResult(PluginFile::Open(found), found));
    DEPUTY_ASSIGN_OR_RETURN(const Manifest manifest, ToResult(ReadManifest(*file, ThisHost()), found));
    DEPUTY_ASSIGN_OR_RETURN(const ElfImage image, ToResult(ElfImage::Parse(*file, ThisMachine()), found));
    BundlePlugin plugin;
    plugin.file = InPlugins(found.filename().string());
    plugin.id = manifest.id;
    plugin.version = manifest.version;
    plugin.abi = AbiText(manifest.abi_version);
    plugin.delegates = manifest.delegates;
    plugin.cpu_features = manifest.cpu_features;
    plugin.libraries = image.NeededLibraries();
    DEPUTY_RETURN_IF_ERROR(Add(plugin.file, found));
    for (const std::string& name : manifest.files) {
      plugin.files.push_back(InPlugins(name));
      // Two plugins may share a file.
      if (files_.count(plugin.files.back()) == 0) DEPUTY_RETURN_IF_ERROR(Add(plugin.files.back(), folder / name));
    }
    info_.plugins.push_back(std::move(plugin));
    return {};
  }

  static std::string InPlugins(const std::string& name) { return fmt::format("{}/{}", kBundlePluginFolder, name); }

  void DropOwnLibraries() {
    for (BundlePlugin& plugin : info_.plugins)
      std::erase_if(plugin.libraries, [&](const std::string& name) { return files_.count(InPlugins(name)) != 0; });
  }

  Result<BundleInfo> Write(const fs::path& output) {
    std::sort(info_.plugins.begin(), info_.plugins.end(),
              [](const BundlePlugin& a, const BundlePlugin& b) { return a.file < b.file; });
    const std::string description = DescriptionText(info_);
    std::map<std::string, std::span<const uint8_t>> listed = {{kBundleDescriptionName, BytesOf(description)}};
    for (const auto& [path, file] : files_) listed.emplace(path, file->bytes());
    if (listed.size() + 2 > kMostFiles)
      return Error(StatusCode::kInvalidArgument, "{} files are too many for a bundle; the limit is {}", listed.size(),
                   kMostFiles - 2);
    Checksums checksums;
    std::map<std::string, uint64_t> sizes;
    for (const auto& [path, bytes] : listed) {
      checksums.emplace(path, Sha256().Add(bytes).Finish());
      sizes.emplace(path, bytes.size());
    }
    const std::string text = ChecksumsText(checksums);
    std::string signature;
    if (!sources_.secret_key.empty()) {
      std::string comment = info_.name + " " + info_.version;
      if (!sources_.expires.empty()) comment += fmt::format(" {}{}", kExpires, sources_.expires);
      DEPUTY_ASSIGN_OR_RETURN(signature, Sign(text, sources_.secret_key, comment));
    }
    std::vector<ArchiveFile> files = {{kChecksumsName, BytesOf(text)}};
    if (!signature.empty()) files.push_back({kChecksumsSignatureName, BytesOf(signature)});
    for (const auto& [path, bytes] : listed) files.push_back({path, bytes});
    DEPUTY_RETURN_IF_ERROR(WriteArchive(files, output));
    DEPUTY_ASSIGN_OR_RETURN(ReadBundle made, MakeReadBundle(text, signature, description, sizes));
    return std::move(made.info);
  }

  static std::span<const uint8_t> BytesOf(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }

  const BundleSources& sources_;
  const std::chrono::sys_days today_;
  BundleInfo info_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;  // by their path in the bundle
};

}  // namespace

Result<BundleInfo> Pack(const BundleSources& sources, const fs::path& output, std::chrono::sys_days today) {
  return Packer(sources, today).Run(output);
}

}  // namespace deputy::host::bundle
