// The effective configuration as YAML, for `deputy config show`.
#pragma once

#include <string>

#include "config/config.hpp"

namespace deputy::host {

// One value a line, with where it comes from behind it: "threads: 2  # /etc/deputy/config.yaml:12". Reads back as an
// equal Config. What is empty and was never written (no rules, no options) is left out. [any-thread]
std::string ShowConfig(const Config& config);

}  // namespace deputy::host
