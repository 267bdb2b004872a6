// From the configuration's plugin folders to a scan.
#pragma once

#include "config/config.hpp"
#include "plugin/registry.hpp"

namespace deputy::host {

// Log levels are process-wide: those of the context that last looked for plugins are in force.
void ApplyLogLevels(const LogConfig& config);

// Folders with `$deputy` put in, the worker of this installation, and the deadline.
ScanOptions MakeScanOptions(const Config& config);

}  // namespace deputy::host
