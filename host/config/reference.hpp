// The list of keys for readers: each with its type, default, meaning and an example.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace deputy::host {

struct KeyEntry {
  std::string path, type, default_value, meaning, example;
  bool available = true;
};

// Of fields.hpp, in its order; `defaults` is the built-in default. [any-thread]
std::vector<KeyEntry> KeyReference(const Config& defaults);

}  // namespace deputy::host
