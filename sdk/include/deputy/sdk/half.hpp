// Half precision (IEEE 754 binary16) from and to float, for delegates whose device or library has no conversions of its
// own. Rounding is to nearest even; NaN stays NaN, an infinity an infinity, and numbers too large for a half become
// infinities. Not part of sdk.hpp, because it includes the compiler's header of vector instructions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deputy::sdk {

inline uint16_t HalfOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude < 0x38800000u) {
    // Below 2^-14 halves are multiples of 2^-24: let the FPU round to one.
    float scaled;
    std::memcpy(&scaled, &magnitude, sizeof scaled);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled * 16777216.0f)));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
  return static_cast<uint16_t>(sign | std::min<uint32_t>(rounded >> 13, 0x7c00u));
}

inline float FloatOf(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) / 16777216.0f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112u) << 23) | (mantissa << 13);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

namespace detail {

// The leading elements that the CPU's own conversions take, eight at a time; their number.
#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) inline size_t ToHalfWide(const float* from, uint16_t* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  return i;
}
__attribute__((target("avx,f16c"))) inline size_t ToFloatWide(const uint16_t* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}
// Every CPU with AVX2 has F16C, whose name clang 14 does not know.
inline bool HasWideHalves() { return __builtin_cpu_supports("avx2"); }
#else
inline size_t ToHalfWide(const float*, uint16_t*, size_t) { return 0; }
inline size_t ToFloatWide(const uint16_t*, float*, size_t) { return 0; }
inline bool HasWideHalves() { return false; }
#endif

}  // namespace detail

// Whole arrays, with the CPU's own conversion where it has one. [any-thread]
inline void ToHalf(const float* from, uint16_t* to, size_t count) {
  for (size_t i = detail::HasWideHalves() ? detail::ToHalfWide(from, to, count) : 0; i < count; ++i)
    to[i] = HalfOf(from[i]);
}
inline void ToFloat(const uint16_t* from, float* to, size_t count) {
  for (size_t i = detail::HasWideHalves() ? detail::ToFloatWide(from, to, count) : 0; i < count; ++i)
    to[i] = FloatOf(from[i]);
}

}  // namespace deputy::sdk
