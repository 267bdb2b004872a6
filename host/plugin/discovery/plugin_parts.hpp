// The files besides its own that decide what a plugin computes: those of its note, and the libraries that it maps. With
// the plugin's file they are its identity: what was found out about it holds as long as none of them has changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/plugin_file.hpp"

namespace deputy::host {

// Of the file as it is now. Nothing of it is run.
PluginPart PartAt(std::filesystem::path path);
// The files of the note, in the folder of the plugin's file.
std::vector<PluginPart> PartsOfNote(const std::filesystem::path& plugin, const Manifest& manifest);
// Adds those whose paths are new.
void AddParts(std::vector<PluginPart>& parts, std::span<const PluginPart> more);

// The first part that has changed since; null: none has.
const PluginPart* ChangedPart(std::span<const PluginPart> parts);

// The same for parts with the same content, as far as a build id tells it, or else size and times do. Not their
// paths, nor the device and inode: files of a container's image have others at each start.
void AddStates(std::span<const PluginPart> parts, Digester& digester);

// A line for records, and back; not a part: the text is damaged.
std::string TextOf(const PluginPart& part);
std::optional<PluginPart> ParsePart(std::string_view text);

// The dynamic linker's names of the libraries in this process.
std::vector<std::string> MappedLibraries();
// Those that are not among `before`, nor the plugin's own file.
std::vector<PluginPart> MappedSince(const std::vector<std::string>& before, const std::filesystem::path& plugin);

// Which of the libraries that the plugin loads from its own folder this process has from another file, under the same
// name, so that the dynamic linker would use that one; empty: none. A sentence that names both files.
std::string ClashOf(const std::filesystem::path& plugin, const Manifest& manifest, std::span<const PluginPart> parts);

}  // namespace deputy::host
