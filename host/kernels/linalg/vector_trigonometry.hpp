// Trigonometric functions of float and their inverses, with the guarantees of vector_math.hpp.
#pragma once

#include <cstdint>

namespace deputy::host {

// The bound of VectorSin and VectorCos: above it the quotient by pi / 2 loses its low bits.
inline constexpr float kVectorTurns = 1.0e6f;

// Cephes sinf and cosf on an eighth of a turn. The argument is reduced in double, which has enough digits of pi;
// `quarters` selects the sine or the cosine.
[[gnu::always_inline]] inline float VectorSinus(float x, uint32_t quarters) {
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, kept in the low bits
  const double wide = static_cast<double>(x);
  const double shifted = wide * 0.63661977236758134308 + kShift;
  const double n = shifted - kShift;
  // The first part of pi / 2 has 33 bits: its product is exact.
  const float r = static_cast<float>((wide - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11);
  const uint32_t quadrant = static_cast<uint32_t>(__builtin_bit_cast(uint64_t, shifted)) + quarters;
  const float z = r * r;
  float s = -1.9515295891e-4f;
  s = s * z + 8.3321608736e-3f;
  s = s * z - 1.6666654611e-1f;
  s = s * z * r + r;
  float c = 2.443315711809948e-5f;
  c = c * z - 1.388731625493765e-3f;
  c = c * z + 4.166664568298827e-2f;
  c = c * z * z - 0.5f * z + 1.0f;
  const uint32_t magnitude = __builtin_bit_cast(uint32_t, (quadrant & 1u) != 0 ? c : s);
  return __builtin_bit_cast(float, magnitude ^ ((quadrant & 2u) << 30));
}

[[gnu::always_inline]] inline float VectorSin(float x) { return x == 0 ? x : VectorSinus(x, 0); }
[[gnu::always_inline]] inline float VectorCos(float x) { return VectorSinus(x, 1); }

// Cephes asinf for x of [0, 0.5], given its square.
[[gnu::always_inline]] inline float VectorArcOfHalf(float x, float z) {
  float p = 4.2163199048e-2f;
  p = p * z + 2.4181311049e-2f;
  p = p * z + 4.5470025998e-2f;
  p = p * z + 7.4953002686e-2f;
  p = p * z + 1.6666752422e-1f;
  return p * z * x + x;
}

// Above a half computed from half the complementary angle; outside [-1, 1] the root of a negative number gives NaN.
[[gnu::always_inline]] inline float VectorAsin(float x) {
  const float magnitude = __builtin_fabsf(x);
  const bool far = magnitude > 0.5f;
  const float z = far ? 0.5f * (1.0f - magnitude) : x * x;
  const float root = __builtin_sqrtf(z);
  const float arc = VectorArcOfHalf(far ? root : magnitude, z);
  return __builtin_copysignf(far ? 1.57079632679489662f - 2.0f * arc : arc, x);
}

[[gnu::always_inline]] inline float VectorAcos(float x) {
  const float magnitude = __builtin_fabsf(x);
  const bool far = magnitude > 0.5f;
  const float z = far ? 0.5f * (1.0f - magnitude) : x * x;
  const float root = __builtin_sqrtf(z);
  const float arc = VectorArcOfHalf(far ? root : magnitude, z);
  const float outer = x < 0 ? 3.14159265358979324f - 2.0f * arc : 2.0f * arc;
  const float inner = x < 0 ? 1.57079632679489662f + arc : 1.57079632679489662f - arc;
  return far ? outer : inner;
}

// Cephes atanf, with the arguments of both reductions as one quotient.
[[gnu::always_inline]] inline float VectorAtan(float x) {
  const float magnitude = __builtin_fabsf(x);
  const bool steep = magnitude > 2.41421356237f, middle = magnitude > 0.41421356237f;
  const float above = steep ? -1.0f : (middle ? magnitude - 1.0f : magnitude);
  const float below = steep ? magnitude : (middle ? magnitude + 1.0f : 1.0f);
  const float t = above / below, z = t * t;
  float p = 8.05374449538e-2f;
  p = p * z - 1.38776856032e-1f;
  p = p * z + 1.99777106478e-1f;
  p = p * z - 3.33329491539e-1f;
  const float start = steep ? 1.57079632679489662f : (middle ? 0.785398163397448310f : 0.0f);
  return __builtin_copysignf(start + (p * z * t + t), x);
}

}  // namespace deputy::host
