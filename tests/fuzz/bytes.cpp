#include "fuzz/bytes.hpp"

#include <algorithm>
#include <limits>

namespace deputy::fuzz {
namespace {

constexpr uint64_t kLimits[] = {0,
                                1,
                                2,
                                7,
                                8,
                                0x7f,
                                0x80,
                                0xff,
                                0x7fff,
                                0x8000,
                                0xffff,
                                0x10000,
                                std::numeric_limits<int32_t>::max(),
                                0x80000000u,
                                std::numeric_limits<uint32_t>::max(),
                                0x100000000u,
                                std::numeric_limits<int64_t>::max(),
                                0x8000000000000000u,
                                0xfffffffffffffffeu,
                                std::numeric_limits<uint64_t>::max()};

std::ptrdiff_t Offset(size_t index) { return static_cast<std::ptrdiff_t>(index); }

}  // namespace

uint64_t ChangedNumber(uint64_t value, Random& random) {
  switch (random.Below(7)) {
    case 0: return value + 1 + random.Below(8);
    case 1: return value - 1 - random.Below(8);
    case 2: return random.Of(kLimits);
    case 3: return value ^ uint64_t { 1 } << random.Below(64);
    case 4: return random.Below(64);
    case 5: return random.OneIn(2) ? value * 2 : value / 2;
    default: return random.Next() >> random.Below(64);
  }
}

void ChangeBytes(Bytes& bytes, Random& random, size_t limit) {
  const size_t size = bytes.size();
  const size_t at = random.Below(size);
  const size_t length = std::min(size - at, 1 + random.Below(random.OneIn(4) ? 64 : 8));
  switch (random.Below(8)) {
    case 0:
      if (size != 0) bytes[at] ^= static_cast<uint8_t>(1u << random.Below(8));
      return;
    case 1:
      if (size != 0) bytes[at] = static_cast<uint8_t>(random.Next());
      return;
    case 2:
      if (size < limit) bytes.insert(bytes.begin() + Offset(at), static_cast<uint8_t>(random.Next()));
      return;
    case 3: bytes.erase(bytes.begin() + Offset(at), bytes.begin() + Offset(at + length)); return;
    case 4: {  // copies a part over another one
      if (size == 0) return;
      const size_t to = random.Below(size);
      std::memmove(bytes.data() + to, bytes.data() + at, std::min(length, size - to));
      return;
    }
    case 5: {  // repeats a part
      if (size + length > limit) return;
      const Bytes part(bytes.begin() + Offset(at), bytes.begin() + Offset(at + length));
      bytes.insert(bytes.begin() + Offset(at), part.begin(), part.end());
      return;
    }
    case 6:
      if (size >= sizeof(uint64_t)) {
        const size_t width = size_t{1} << random.Below(4);
        const size_t place = random.Below(size - width + 1);
        uint64_t number = 0;
        std::memcpy(&number, bytes.data() + place, width);
        number = ChangedNumber(number, random);
        std::memcpy(bytes.data() + place, &number, width);
      }
      return;
    default:
      if (random.OneIn(4)) bytes.resize(at);
      return;
  }
}

void ChangeAlignedNumber(std::span<uint8_t> bytes, size_t begin, Random& random) {
  if (bytes.size() < begin + sizeof(uint64_t)) return;
  const size_t places = (bytes.size() - begin - sizeof(uint32_t)) / 4;
  const size_t at = begin + 4 * random.Below(places);
  const auto number = Load<uint32_t>(bytes, at);
  switch (random.Below(5)) {
    case 0: Store(bytes, at, static_cast<uint32_t>(random.Below(bytes.size()))); return;
    case 1: Store(bytes, at, Load<uint32_t>(bytes, begin + 4 * random.Below(places))); return;
    case 2: Store(bytes, at, ChangedNumber(Load<uint64_t>(bytes, at), random)); return;
    case 3: {  // one byte: types, flags
      const size_t byte = at + random.Below(4);
      bytes[byte] = static_cast<uint8_t>(ChangedNumber(bytes[byte], random));
      return;
    }
    default: Store(bytes, at, static_cast<uint32_t>(ChangedNumber(number, random))); return;
  }
}

}  // namespace deputy::fuzz
