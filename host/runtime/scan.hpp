// From the configuration's plugin folders to a scan, and the messages about refused files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "deputy/context.hpp"
#include "plugin/discovery/registry.hpp"
#include "runtime/plugin_records.hpp"

namespace deputy::host {

// Log levels are process-wide: those of the context that scanned for plugins last are in effect.
void ApplyLogLevels(const LogConfig& config);
// The same in place of those of another configuration.
void ReplaceLogLevels(const LogConfig& former, const LogConfig& config);

// plugins.environment, and plugins.readable as the variable that the worker reads.
std::vector<std::string> EnvironmentOf(const Config& config);

// The records of the configuration's store, without effect where that is off. `reuse`: descriptions that earlier probes
// got serve, unless a diagnosis asks for the present ones.
std::shared_ptr<PluginRecords> RecordsOf(const Config& config, bool reuse);

// Folders with `$deputy` replaced, the worker of this installation, the deadline; without records. Warns of each folder
// of plugins.readable that does not exist.
ScanOptions MakeScanOptions(const Config& config);
// The same with the progress of the context, which must outlive the options.
ScanOptions MakeScanOptions(const Context::State& state);

// With every option that an enabled entry does not set, at its plugin's default. Runs the plugins in the helper
// process.
Config WithPluginDefaults(Config config);

// Refused files and folders, except libraries that do not claim to be plugins.
std::vector<const PluginEntry*> RefusedFiles(const PluginRegistry& registry);
// Many refused files in one line: their number, the reasons, and the first of them.
std::string RefusalSummary(const std::vector<const PluginEntry*>& refused);

}  // namespace deputy::host
