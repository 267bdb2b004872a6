// Inputs as bytes, and changes to them that need no knowledge of the format: the last resort of every mutator, and the
// whole of it for texts and scalars within a structure.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/random.hpp"

namespace deputy::fuzz {

using Bytes = std::vector<uint8_t>;

inline std::string_view TextOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes BytesOf(std::string_view text) { return {text.begin(), text.end()}; }

// A number of T at `offset`, which must be within the bytes.
template <class T>
T Load(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}
template <class T>
void Store(std::span<uint8_t> bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

// Near `value`, near a limit of an integer type, a small number, a flipped bit, or any number.
uint64_t ChangedNumber(uint64_t value, Random& random);

// Flips, sets, inserts, removes, copies or repeats some bytes, or cuts the end. Never beyond `limit` bytes.
void ChangeBytes(Bytes& bytes, Random& random, size_t limit);

// Changes one number of 4 or 8 bytes at a multiple of 4 from `begin`, as in formats of aligned numbers and offsets: to
// a changed number, to another one of the same bytes, or to the distance to another place.
void ChangeAlignedNumber(std::span<uint8_t> bytes, size_t begin, Random& random);

}  // namespace deputy::fuzz
