// A plugin's manifest in its ELF note (sdk/include/deputy/abi/note.h), and the first of three gates between a file and
// the process: decides from the file's bytes alone, without running an instruction of it, whether it is a plugin that
// fits this host.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "deputy/dtype.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

struct Manifest {
  uint32_t abi_version = 0, min_host_abi = 0;
  std::string id, version;
  std::vector<std::string> delegates;
  std::vector<std::string> cpu_features;
  std::vector<std::pair<std::string, std::string>> environment;  // name, value; wanted before the library is loaded
  std::string sanitizer;                                         // "", "address" or "thread"
  std::vector<std::string> files;                                // must travel with the plugin
  std::vector<std::string> devices;                              // names and patterns below /dev
  DType computes = DType::kUndefined;                            // narrowest float type in which its delegates compute
  std::vector<std::string> opens;                                // other vendors' libraries, which no lock covers
  std::vector<uint8_t> build_id;                                 // of the linker; may be empty
  std::vector<std::string> libraries;                            // of the ELF file: needed by the dynamic linker
};

// Reads the note's descriptor. Fails with kBadNote or kBadUtf8; does not check whether this host fits.
Checked<Manifest> ParseManifest(std::span<const uint8_t> descriptor);

// "0.1"
std::string AbiText(uint32_t version);

// Properties of the host that a plugin must fit.
struct HostTraits {
  uint32_t abi_version = 0;
  uint16_t machine = 0;                         // EM_ number
  std::set<std::string, std::less<>> features;  // of the CPU, as in /proc/cpuinfo
  std::string sanitizer;                        // that the host is built with
};

// Of this process.
HostTraits ThisHost();

// Never crashes, blocks or allocates more than a few megabytes, regardless of the bytes. [any-thread]
Checked<Manifest> ReadManifest(const ByteSource& file, const HostTraits& host);

// May a plugin that was built for `abi` and needs at least `min_host` run on a host with `host`? While the ABI is 0.x
// every minor number may break, so it must be the same; later only the major number must.
bool AbiFits(uint32_t abi, uint32_t min_host, uint32_t host);

}  // namespace deputy::host
