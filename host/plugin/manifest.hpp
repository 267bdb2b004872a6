// A plugin's manifest in its ELF note (sdk/include/deputy/abi/note.h), readable before it is loaded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plugin/rejection.hpp"

namespace deputy::host {

struct Manifest {
  uint32_t abi_version = 0, min_host_abi = 0;
  std::string id, version;
  std::vector<std::string> delegates;
  std::vector<std::string> cpu_features;
  std::vector<std::pair<std::string, std::string>> environment;  // name, value; wanted before the library is loaded
  std::string sanitizer;                                         // "", "address" or "thread"
  std::vector<std::string> files;                                // must travel with the plugin
  std::vector<uint8_t> build_id;                                 // of the linker; may be empty
};

// Reads the note's descriptor. Fails with kBadNote or kBadUtf8; does not check whether this host fits.
Checked<Manifest> ParseManifest(std::span<const uint8_t> descriptor);

// "0.1"
std::string AbiText(uint32_t version);

}  // namespace deputy::host
