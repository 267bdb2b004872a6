// The configuration's keys as a JSON Schema, for editors and external checks.
#pragma once

#include <string>

namespace deputy::host {

// A JSON Schema (draft 2020-12) of a configuration file, made from the list of fields.hpp, on one line. It refuses
// unknown keys, as the reader does; only the reader finds errors that span several values (durations out of range,
// delegates listed twice, unknown names).
std::string ConfigJsonSchema();

}  // namespace deputy::host
