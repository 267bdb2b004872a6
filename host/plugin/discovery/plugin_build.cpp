#include "plugin/discovery/plugin_build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

#include "plugin/discovery/plugin_parts.hpp"

namespace deputy::host {

std::string PartsText(const std::optional<Digest>& content, std::span<const PluginPart> parts, size_t of_note) {
  if (parts.empty()) return {};
  Digester digester;
  // The content is the plugin's own as well, whose build id stands for it where nothing is kept.
  if (content && of_note != 0) digester.Add(*content);
  AddStates(content ? parts.subspan(of_note) : parts, digester);
  return HexText(digester.Finish());
}

std::string BuildText(std::span<const uint8_t> build_id, const std::string& parts_text) {
  if (build_id.empty()) return {};
  return fmt::format("{:02x}{}{}", fmt::join(build_id, ""), parts_text.empty() ? "" : "+", parts_text);
}

Checked<PluginWithParts> OpenWithParts(const std::filesystem::path& path) {
  PluginWithParts plugin;
  DEPUTY_ASSIGN_OR_REJECT(plugin.file, PluginFile::Open(path));
  DEPUTY_ASSIGN_OR_REJECT(plugin.manifest, ReadManifest(*plugin.file, ThisHost()));
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  plugin.file->set_parts(PartsOfNote(error ? path : resolved, plugin.manifest));
  return plugin;
}

Checked<PluginBuild> BuildAt(const std::filesystem::path& path, const std::vector<std::string>& libraries,
                             ProbeRecords& records) {
  DEPUTY_ASSIGN_OR_REJECT(const PluginWithParts plugin, OpenWithParts(path));
  std::vector<PluginPart> parts = plugin.file->parts();
  const size_t of_note = parts.size();
  const std::optional<Digest> content = records.Find(*plugin.file).content;
  for (const std::string& library : libraries) {
    const PluginPart part = PartAt(library);
    AddParts(parts, {&part, 1});
  }
  return PluginBuild{plugin.manifest.version, BuildText(plugin.manifest.build_id, PartsText(content, parts, of_note))};
}

}  // namespace deputy::host
