// The options that an application gives with `load_delegate`, as pairs of texts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deputy/status.hpp"

namespace deputy::tflite_delegate {

struct DelegateOptions {
  std::string config;                 // a path or the name of a shipped configuration; empty: the machine's alone
  std::vector<std::string> settings;  // "path.to.key=value"
  std::string report;                 // a path, or "log"; empty: none
};

// kInvalidArgument for a key that is unknown, with the nearest one, that is null or given twice, and for a null value.
Result<DelegateOptions> ParseOptions(const char* const* keys, const char* const* values, size_t count);

}  // namespace deputy::tflite_delegate
