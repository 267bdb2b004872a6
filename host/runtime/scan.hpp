// From the configuration's plugin folders to a scan.
#pragma once

#include "config/config.hpp"
#include "plugin/registry.hpp"

namespace deputy::host {

// Folders with `$deputy` put in, the worker of this installation, and the deadline.
ScanOptions MakeScanOptions(const Config& config);

}  // namespace deputy::host
