// Damage to bytes that are stored in files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deputy::conformance {

struct Damage {
  std::string label;  // "byte 17 of 120 is 0x3c instead of 0x00"
  std::vector<uint8_t> bytes;
  bool incomplete = false;  // bytes are missing, which a reader has to notice
};

// Cut at several lengths, single bytes changed, bytes appended; the same for the same seed.
std::vector<Damage> DamagesOf(const std::vector<uint8_t>& bytes, uint64_t seed);

}  // namespace deputy::conformance
