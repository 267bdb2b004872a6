// A tree to a Config: known keys, types, ranges, units. Each layer is checked by itself, so that a wrong value is found
// even where a later layer hides it; the merged tree is read by the same code.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/node.hpp"

namespace deputy::host {

// By source: the folder that relative paths in it are relative to.
using BaseFolders = std::map<std::string, std::filesystem::path>;

enum class LayerKind {
  kFile,     // must say which version it is written for
  kSetting,  // --set or the application: any part of a configuration
  kMerged
};

// False, with the one problem, for a file that says it is written for another version: every other message about it
// would mislead.
bool IsOurVersion(const YamlNode& root, Problems& problems);

Config ReadConfig(const YamlNode& root, LayerKind kind, const BaseFolders& bases, Problems& problems);

// References to delegates that nobody lists: perhaps the application adds them, perhaps they are typing errors.
std::vector<Problem> UnknownReferences(const Config& config);

}  // namespace deputy::host
