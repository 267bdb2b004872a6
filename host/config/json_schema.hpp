// The configuration's keys as a JSON Schema, for editors and for checks elsewhere.
#pragma once

#include <string>

namespace deputy::host {

// A JSON Schema (draft 2020-12) of a configuration file, made from the list of fields.hpp, on one line. It refuses
// unknown keys, as the reader does; what needs more than one look (durations in range, delegates listed twice, names
// that nobody has) only the reader finds.
std::string ConfigJsonSchema();

}  // namespace deputy::host
