// The first bytes of a .dpm file in their binary layout: little endian, 8-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace deputy::host::format {

inline constexpr uint8_t kMagic[8] = {'D', 'P', 'M', '1', '\r', '\n', 0x1a, '\n'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint64_t kPage = 4096;            // weights begin at a multiple of it
inline constexpr uint64_t kSegmentAlignment = 64;  // and each constant at a multiple of this

// Features: some values are sequences or optionals, which older readers would read as tensors.
inline constexpr uint32_t kValuesOfMoreKinds = 1;
// The last inputs and outputs are states, which older readers would request from the caller.
inline constexpr uint32_t kStates = 2;
inline constexpr uint32_t kKnownFeatures = kValuesOfMoreKinds | kStates;

struct Header {
  uint8_t magic[8];
  uint32_t version;   // readers refuse a newer one
  uint32_t features;  // bits of features that a reader must support
  uint64_t file_size;
  uint64_t structure_offset, structure_size;  // the FlatBuffer of model.fbs
  uint64_t weights_offset, weights_size;
  uint64_t checksum;  // FNV-1a, 64 bits, over this header with a checksum of 0 and then the structure
};
static_assert(sizeof(Header) == 64);

inline uint64_t Fnv1a(uint64_t hash, const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

inline uint64_t Checksum(Header header, std::span<const uint8_t> structure) {
  header.checksum = 0;
  const uint64_t hash = Fnv1a(0xcbf29ce484222325u, reinterpret_cast<const uint8_t*>(&header), sizeof(header));
  return Fnv1a(hash, structure.data(), structure.size());
}

}  // namespace deputy::host::format
