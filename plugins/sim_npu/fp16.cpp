#include "fp16.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sim_npu {

uint16_t HalfOf(float value) {
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

float FloatOf(uint16_t half) {
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

float RoundedToHalf(float value) {
  if (!std::isinf(value)) value = value > kLargestHalf ? kLargestHalf : value < -kLargestHalf ? -kLargestHalf : value;
  return FloatOf(HalfOf(value));
}

namespace {

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) size_t ToHalfWide(const float* from, uint16_t* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  return i;
}

__attribute__((target("avx,f16c"))) size_t ToFloatWide(const uint16_t* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}

__attribute__((target("avx,f16c"))) size_t RoundToHalfWide(const float* from, float* to, size_t count) {
  const __m256 largest = _mm256_set1_ps(kLargestHalf), smallest = _mm256_set1_ps(-kLargestHalf);
  const __m256 infinity = _mm256_set1_ps(std::numeric_limits<float>::infinity()), sign = _mm256_set1_ps(-0.0f);
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 value = _mm256_loadu_ps(from + i);
    // min and max return their second operand for NaN, so NaN passes.
    const __m256 clamped = _mm256_max_ps(smallest, _mm256_min_ps(largest, value));
    const __m256 infinite = _mm256_cmp_ps(_mm256_andnot_ps(sign, value), infinity, _CMP_EQ_OQ);
    const __m128i halves =
        _mm256_cvtps_ph(_mm256_blendv_ps(clamped, value, infinite), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  return i;
}

bool HasWide() { return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c"); }
#else
size_t ToHalfWide(const float*, uint16_t*, size_t) { return 0; }
size_t ToFloatWide(const uint16_t*, float*, size_t) { return 0; }
size_t RoundToHalfWide(const float*, float*, size_t) { return 0; }
bool HasWide() { return false; }
#endif

}  // namespace

void ToHalf(const float* from, uint16_t* to, size_t count) {
  for (size_t i = HasWide() ? ToHalfWide(from, to, count) : 0; i < count; ++i) to[i] = HalfOf(from[i]);
}

void ToFloat(const uint16_t* from, float* to, size_t count) {
  for (size_t i = HasWide() ? ToFloatWide(from, to, count) : 0; i < count; ++i) to[i] = FloatOf(from[i]);
}

void RoundToHalf(const float* from, float* to, size_t count) {
  for (size_t i = HasWide() ? RoundToHalfWide(from, to, count) : 0; i < count; ++i) to[i] = RoundedToHalf(from[i]);
}

}  // namespace sim_npu
