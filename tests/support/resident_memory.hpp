// How much of some bytes is in the memory of this process.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>

namespace deputy::host {

// Of the mappings that begin within these bytes, by /proc/self/smaps.
inline uint64_t ResidentBytes(std::span<const uint8_t> bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  std::ifstream smaps("/proc/self/smaps");
  uint64_t resident = 0;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long first = 0, last = 0, kilobytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2)
      inside = first >= begin && first < begin + bytes.size();
    if (inside && std::sscanf(line.c_str(), "Rss: %lu kB", &kilobytes) == 1) resident += kilobytes * 1024;
  }
  return resident;
}

}  // namespace deputy::host
