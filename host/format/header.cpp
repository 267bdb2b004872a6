#include "format/header.hpp"

namespace deputy::host::format {
namespace {

uint64_t Fnv1a(uint64_t hash, const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

}  // namespace

uint64_t Checksum(Header header, std::span<const uint8_t> structure) {
  header.checksum = 0;
  const uint64_t hash = Fnv1a(0xcbf29ce484222325u, reinterpret_cast<const uint8_t*>(&header), sizeof(header));
  return Fnv1a(hash, structure.data(), structure.size());
}

}  // namespace deputy::host::format
