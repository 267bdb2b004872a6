// From the configuration's plugin folders to a scan, and what is said about files that were refused.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "plugin/discovery/registry.hpp"

namespace deputy::host {

// Log levels are process-wide: those of the context that last looked for plugins are in force.
void ApplyLogLevels(const LogConfig& config);

// Folders with `$deputy` put in, the worker of this installation, and the deadline.
ScanOptions MakeScanOptions(const Config& config);

// Refused files and folders, but for libraries that do not claim to be plugins.
std::vector<const PluginEntry*> RefusedFiles(const PluginRegistry& registry);
// Many refused files in one line: how many, for which reasons, and the first of them.
std::string RefusalSummary(const std::vector<const PluginEntry*>& refused);

}  // namespace deputy::host
