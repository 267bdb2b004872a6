// The effective configuration as YAML, for `deputy config show`.
#pragma once

#include <string>

#include "config/config.hpp"

namespace deputy::host {

// One value a line, followed by its origin: "threads: 2  # /etc/deputy/config.yaml:12". Reads back as an equal Config.
// Values that are empty and were never written (no rules, no options) are left out. [any-thread]
std::string ShowConfig(const Config& config);

}  // namespace deputy::host
