// The two 16-bit floating point formats and their conversions, rounding to nearest even. Branch-free, so that loops of
// them are vectorized without a CPU extension.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace deputy::host {

struct Half {
  uint16_t bits;
};

struct BFloat16 {
  uint16_t bits;
};

inline float ToFloat(Half half) {
  const uint32_t magnitude = static_cast<uint32_t>(half.bits & 0x7fffu) << 13;
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000u) << 16;
  // The multiplication moves the exponent's bias and makes subnormals normal at once.
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const uint32_t special = magnitude | 0x7f800000u;
  return std::bit_cast<float>(sign | (magnitude >= 0x0f800000u ? special : finite));
}

inline float ToFloat(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

inline Half ToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Rebias, then add just less than half a unit of the kept bits, plus one where the kept part is odd.
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding one half puts the subnormal's bits at the end of the mantissa, rounded by the addition itself.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t small = magnitude < (113u << 23) ? subnormal : normal;
  return Half{static_cast<uint16_t>(sign | (magnitude >= (143u << 23) ? special : small))};
}

inline BFloat16 ToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return BFloat16{static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

// Rounds to odd, so that rounding the result again, to 16 bits, equals a single rounding.
inline float NarrowToOdd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (back == value || back != back) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value))
    --bits;  // it was rounded away from zero; also reduces an overflow to the largest number
  return std::bit_cast<float>(bits | 1u);
}

inline Half ToHalf(double value) { return ToHalf(NarrowToOdd(value)); }
inline BFloat16 ToBFloat16(double value) { return ToBFloat16(NarrowToOdd(value)); }

}  // namespace deputy::host
