// The configuration as text: the effective values as YAML, for `deputy config show`, and by their paths, for
// comparisons; the keys as a JSON Schema, for editors and external checks.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace deputy::host {

// One value a line, followed by its origin: "threads: 2  # /etc/deputy/config.yaml:12". Reads back as an equal Config.
// Values that are empty and were never written (no rules, no options) are left out. [any-thread]
std::string ShowConfig(const Config& config);

// A value as ShowConfig writes it, without its origin, by its path as behind --set: "delegates.npu0.options.frequency",
// "high". A list of single values is one, "Conv, Relu"; of other lists an item has its name in the path, or its number
// from 0, and "delegates" has the names in their order.
struct PathValue {
  std::string path, value;
};
// All values that ShowConfig writes. [any-thread]
std::vector<PathValue> ListValues(const Config& config);

// A JSON Schema (draft 2020-12) of a configuration file, made from the list of fields.hpp, on one line. It refuses
// unknown keys, as the reader does; only the reader finds errors that span several values (durations out of range,
// delegates listed twice, unknown names).
std::string ConfigJsonSchema();

}  // namespace deputy::host
