#include "plugin/discovery/plugin_parts.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "plugin/discovery/elf_image.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> BuildIdOf(const PluginFile& file) {
  const Checked<ElfImage> image = ElfImage::Parse(file, ThisMachine());
  return RejectionOf(image) != nullptr ? std::vector<uint8_t>() : std::get<ElfImage>(image).BuildId();
}

int AddName(dl_phdr_info* object, size_t, void* data) {
  if (object->dlpi_name != nullptr && object->dlpi_name[0] == '/')
    static_cast<std::vector<std::string>*>(data)->emplace_back(object->dlpi_name);
  return 0;
}

bool IsSameFile(const FileIdentity& a, const FileIdentity& b) { return a.device == b.device && a.inode == b.inode; }

bool IsBelow(const fs::path& path, const fs::path& folder) {
  const fs::path normal = path.lexically_normal();
  return std::mismatch(folder.begin(), folder.end(), normal.begin(), normal.end()).first == folder.end();
}

}  // namespace

PluginPart PartAt(fs::path path) {
  PluginPart part{std::move(path).lexically_normal(), {}, {}};
  const auto opened = PluginFile::Open(part.path);
  if (RejectionOf(opened) != nullptr) return part;
  const PluginFile& file = *std::get<std::unique_ptr<PluginFile>>(opened);
  part.identity = file.identity();
  part.build_id = BuildIdOf(file);
  return part;
}

std::vector<PluginPart> PartsOfNote(const fs::path& plugin, const Manifest& manifest) {
  std::vector<PluginPart> parts;
  for (const std::string& name : manifest.files) parts.push_back(PartAt(plugin.parent_path() / name));
  return parts;
}

void AddParts(std::vector<PluginPart>& parts, std::span<const PluginPart> more) {
  for (const PluginPart& part : more) {
    const auto known =
        std::find_if(parts.begin(), parts.end(), [&](const PluginPart& other) { return other.path == part.path; });
    if (known == parts.end())
      parts.push_back(part);
    else
      known->at_load = known->at_load || part.at_load;
  }
}

const PluginPart* ChangedPart(std::span<const PluginPart> parts) {
  for (const PluginPart& part : parts) {
    const Checked<FileIdentity> now = IdentityOf(part.path);
    const FileIdentity* identity = std::get_if<FileIdentity>(&now);
    if ((identity == nullptr ? FileIdentity() : *identity) != part.identity) return &part;
  }
  return nullptr;
}

void AddStates(std::span<const PluginPart> parts, Digester& digester) {
  std::vector<const PluginPart*> sorted;
  for (const PluginPart& part : parts) sorted.push_back(&part);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->path < b->path; });
  digester.AddNumber(sorted.size());
  for (const PluginPart* part : sorted) {
    const FileIdentity& identity = part->identity;
    digester.AddText(part->path.filename().native()).AddNumber(part->build_id.size()).Add(part->build_id);
    digester.AddNumber(identity.size).AddNumber(static_cast<uint64_t>(identity.modified_ns));
    if (part->build_id.empty()) digester.AddNumber(static_cast<uint64_t>(identity.changed_ns));
  }
}

std::string TextOf(const PluginPart& part) {
  const FileIdentity& identity = part.identity;
  return fmt::format("{} {} {} {} {} {}", identity.device, identity.inode, identity.size, identity.modified_ns,
                     identity.changed_ns, part.path.native());
}

std::optional<PluginPart> ParsePart(std::string_view text) {
  PluginPart part;
  const auto take = [&](auto& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool sound = error == std::errc() && end != text.data() + text.size() && *end == ' ';
    if (sound) text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
    return sound;
  };
  FileIdentity& identity = part.identity;
  if (!take(identity.device) || !take(identity.inode) || !take(identity.size) || !take(identity.modified_ns) ||
      !take(identity.changed_ns))
    return std::nullopt;
  part.path = text;
  return part;
}

std::vector<std::string> MappedLibraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(AddName, &names);
  return names;
}

std::vector<PluginPart> MappedSince(const std::vector<std::string>& before, const fs::path& plugin) {
  std::vector<PluginPart> parts;
  for (const std::string& name : MappedLibraries())
    if (std::find(before.begin(), before.end(), name) == before.end() && fs::path(name) != plugin)
      parts.push_back({fs::path(name).lexically_normal(), {}, {}, true});
  return parts;
}

std::string ClashOf(const fs::path& plugin, const Manifest& manifest, std::span<const PluginPart> parts) {
  const fs::path folder = plugin.parent_path();
  const std::vector<std::string>& needed = manifest.libraries;
  const std::vector<std::string> loaded = MappedLibraries();
  for (const PluginPart& part : parts) {
    const std::string name = part.path.filename().native();
    const bool is_needed = part.at_load || std::find(needed.begin(), needed.end(), name) != needed.end();
    if (!is_needed || !IsBelow(part.path, folder)) continue;
    const std::string* other = nullptr;
    bool is_own = false;
    for (const std::string& object : loaded) {
      if (fs::path(object).filename() != name) continue;
      const Checked<FileIdentity> identity = IdentityOf(object);
      is_own = is_own || (RejectionOf(identity) == nullptr && IsSameFile(std::get<0>(identity), part.identity));
      other = &object;
    }
    if (other != nullptr && !is_own)
      return fmt::format("it brings {}, and this process has loaded {}, which takes its place", part.path.native(),
                         *other);
  }
  return {};
}

}  // namespace deputy::host
