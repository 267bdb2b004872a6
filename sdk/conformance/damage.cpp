#include "damage.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <random>
#include <set>

namespace deputy::conformance {

std::vector<Damage> DamagesOf(const std::vector<uint8_t>& bytes, uint64_t seed) {
  // Formats have their lengths and counts at the front, so that more changes are made there.
  constexpr size_t kHead = 96, kChangesInHead = 40, kChangesElsewhere = 24;
  const size_t size = bytes.size();
  const std::string of = " of " + std::to_string(size) + " bytes";
  std::vector<Damage> all;
  std::set<size_t> lengths = {1, 4, 8, 12, 16, 24, 32, 64, 128, size / 4, size / 2, size - size / 4};
  if (size > 0) lengths.insert(size - 1);
  if (size > 8) lengths.insert(size - 8);
  all.push_back({"no bytes", {}, true});
  for (const size_t length : lengths)
    if (length > 0 && length < size)
      all.push_back({"the first " + std::to_string(length) + of,
                     {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)},
                     true});
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + size);
  const auto change = [&](size_t at, uint8_t value) {
    if (bytes[at] == value) return;
    char label[96];
    std::snprintf(label, sizeof label, "byte %zu of %zu is 0x%02x instead of 0x%02x", at, size, value, bytes[at]);
    all.push_back({label, bytes, false});
    all.back().bytes[at] = value;
  };
  // One bit, or the values at which arithmetic with lengths goes wrong.
  const auto change_any = [&](size_t at) {
    const auto kind = random() % 4;
    const auto bit = static_cast<uint8_t>(1u << (random() % 8));
    change(at, kind == 0 ? uint8_t{0xff} : kind == 1 ? uint8_t{0x80} : static_cast<uint8_t>(bytes[at] ^ bit));
  };
  for (size_t i = 0; i < kChangesInHead && size > 0; ++i) change_any(random() % std::min(size, kHead));
  for (size_t i = 0; i < kChangesElsewhere && size > kHead; ++i) change_any(kHead + random() % (size - kHead));
  Damage longer{"64 bytes behind the " + std::to_string(size), bytes, false};
  longer.bytes.resize(size + 64, 0);
  all.push_back(std::move(longer));
  return all;
}

}  // namespace deputy::conformance
