// The first of three gates between a file and the process: decides from the file's bytes alone, without running an
// instruction of it, whether it is a plugin that fits this host.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "plugin/manifest.hpp"
#include "plugin/plugin_file.hpp"
#include "plugin/rejection.hpp"

namespace deputy::host {

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
