// A tree to a Config: known keys, types, ranges, units. Each layer is checked by itself, so that a wrong value is found
// even where a later layer hides it; the merged tree is read by the same code.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/reader.hpp"

namespace deputy::host {

// By source: the folder that relative paths in it are relative to.
using BaseFolders = std::map<std::string, std::filesystem::path>;

enum class LayerKind {
  kFile,     // must state its version
  kSetting,  // --set or the application: any part of a configuration
  kMerged
};

// False, with this one problem, for a file written for another version: every other message about it would mislead.
bool IsOurVersion(const YamlNode& root, Problems& problems);

Config ReadConfig(const YamlNode& root, LayerKind kind, const BaseFolders& bases, Problems& problems);

// Reports rules and log levels that name a delegate that is neither listed, nor the CPU, nor one of `added`, which are
// the names that the application has added. A listed one counts even where it is disabled or absent. Also `trust_keys`
// without `trust: listed`, which refers to nothing.
std::vector<Problem> UnknownReferences(const Config& config, const std::vector<std::string>& added);

}  // namespace deputy::host
