// The build of a plugin as text: the build id of its file, and a name of the content of the files and libraries that
// count as the plugin. Two builds with equal texts compute the same.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/probe_records.hpp"

namespace deputy::host {

// `parts`: those of the note, which `content` covers as well where there is one, then libraries. Empty without parts.
std::string PartsText(const std::optional<Digest>& content, std::span<const PluginPart> parts, size_t of_note);
// Empty without a build id.
std::string BuildText(std::span<const uint8_t> build_id, const std::string& parts_text);

// The plugin at this path as it is now, with the parts of its note: nothing of it is run.
struct PluginWithParts {
  std::unique_ptr<PluginFile> file;
  Manifest manifest;
};
Checked<PluginWithParts> OpenWithParts(const std::filesystem::path& path);

// Of the plugin at this path as it is now, if it maps these libraries: nothing of it is run.
struct PluginBuild {
  std::string version, text;
};
Checked<PluginBuild> BuildAt(const std::filesystem::path& path, const std::vector<std::string>& libraries,
                             ProbeRecords& records);

}  // namespace deputy::host
