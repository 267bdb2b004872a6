// Elementary functions of float without branches or calls, so that loops over them become vector code. Within 3 units
// in the last place of the true value (tests/unit/kernels/vector_math_test.cpp); infinities and NaN as in <cmath>. They
// are part of the modules too, so they are always inlined and call nothing of std::.
#pragma once

#include <cstdint>

namespace deputy::host {

// (exp(r) - 1 - r) / r^2 for |r| up to half of log(2).
[[gnu::always_inline]] inline float ExpPolynomial(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p;
}

// x = power * log(2) + rest, with a rest of up to half of log(2). Log(2) in two parts, as Cephes has it.
struct PowerAndRest {
  int32_t power;
  float rest;
};
[[gnu::always_inline]] inline PowerAndRest ReduceByLog2(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  const float shifted = x * 1.44269504088896341f + kShift;
  const float n = shifted - kShift;
  const uint32_t power = __builtin_bit_cast(uint32_t, shifted) - __builtin_bit_cast(uint32_t, kShift);
  return {static_cast<int32_t>(power), (x - n * 0.693359375f) + n * 2.12194440e-4f};
}

// 2^power for the powers that normal numbers have.
[[gnu::always_inline]] inline float PowerOfTwo(int32_t power) {
  return __builtin_bit_cast(float, (static_cast<uint32_t>(power) + 127u) << 23);
}

// Cephes expf (netlib.org/cephes): reduction by log(2), then a polynomial of degree 7.
[[gnu::always_inline]] inline float VectorExp(float x) {
  // Outside of these bounds the result is 0 or infinite; NaN fails both comparisons and is kept.
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const PowerAndRest of = ReduceByLog2(x);
  const float p = ExpPolynomial(of.rest) * of.rest * of.rest + of.rest + 1.0f;
  // The power is applied in two halves: 2^128 and 2^-150 are not representable.
  const int32_t half = of.power >> 1;
  return p * PowerOfTwo(half) * PowerOfTwo(of.power - half);
}

// exp(x) - 1, exact near zero: the polynomial without its constant, corrected for the power of two.
[[gnu::always_inline]] inline float VectorExpm1(float x) {
  x = x < -104.0f ? -104.0f : x;
  const PowerAndRest of = ReduceByLog2(x > 89.0f ? 89.0f : x);
  const float p = ExpPolynomial(of.rest) * (of.rest * of.rest) + of.rest;
  const int32_t half = of.power >> 1;
  const float first = PowerOfTwo(half), second = PowerOfTwo(of.power - half), scale = first * second;
  const float near = p * scale + (scale - 1.0f);
  const float far = (p + 1.0f) * first * second - 1.0f;
  const float result = of.power > 64 ? far : near;
  return of.power == 0 && x == 0 ? x : result;  // keeps the sign of zero
}

// tanh(|x|) = t / (t + 2) with t = exp(2 |x|) - 1; from 9.02 on it is 1. The power is small: it needs no halves.
[[gnu::always_inline]] inline float VectorTanh(float x) {
  const float magnitude = __builtin_fabsf(x);
  const PowerAndRest of = ReduceByLog2((magnitude > 9.02f ? 9.02f : magnitude) * 2.0f);
  const float p = ExpPolynomial(of.rest) * (of.rest * of.rest) + of.rest;
  const float scale = PowerOfTwo(of.power);
  const float t = p * scale + (scale - 1.0f);
  return __builtin_copysignf(t / (t + 2.0f), x);
}

// Below one erf(x) / x is a polynomial of x^2; above, exp(x^2) * erfc(x) is one of 1 / (x + 2). Both are Chebyshev
// fits, of degree 6 over [0, 1] and of degree 7 over [1, 4.5]; above 4.5 the exponential makes the second negligible.
[[gnu::always_inline]] inline float VectorErf(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float z = x * x;
  float p = 7.88249745e-05f;
  p = p * z - 8.01885501e-04f;
  p = p * z + 5.18931216e-03f;
  p = p * z - 2.68543288e-02f;
  p = p * z + 1.12835974e-01f;
  p = p * z - 3.76126260e-01f;
  p = p * z + 1.12837911f;
  const float t = 1.0f / (magnitude + 2.0f);
  float q = 15.046298f;
  q = q * t - 29.7508774f;
  q = q * t + 17.7203636f;
  q = q * t - 1.53209281f;
  q = q * t + 2.751513f;
  q = q * t + 1.04327381f;
  q = q * t + 5.69460452e-01f;
  q = q * t - 1.41698736e-04f;
  const float far = 1.0f - q * VectorExp(-z);
  return __builtin_copysignf(magnitude < 1.0f ? p * magnitude : far, x);
}

[[gnu::always_inline]] inline float VectorSigmoid(float x) { return 1.0f / (1.0f + VectorExp(-x)); }

// Cephes logf of 2^exponent * (1 + x), with 1 + x between the roots of a half and of two.
[[gnu::always_inline]] inline float VectorLogOfParts(float x, float exponent) {
  const float z = x * x;
  float p = 7.0376836292e-2f;
  p = p * x - 1.1514610310e-1f;
  p = p * x + 1.1676998740e-1f;
  p = p * x - 1.2420140846e-1f;
  p = p * x + 1.4249322787e-1f;
  p = p * x - 1.6668057665e-1f;
  p = p * x + 2.0000714765e-1f;
  p = p * x - 2.4999993993e-1f;
  p = p * x + 3.3333331174e-1f;
  const float rest = p * x * z + exponent * -2.12194440e-4f - 0.5f * z;
  return (x + rest) + exponent * 0.693359375f;
}

// For a normal, positive number; any result for others.
[[gnu::always_inline]] inline float VectorLogOfNormal(float x, float exponent) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  // The exponent for which the mantissa is between the roots of a half and of two.
  const int32_t power = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  const float rest = __builtin_bit_cast(float, bits - (static_cast<uint32_t>(power) << 23));
  return VectorLogOfParts(rest - 1.0f, exponent + static_cast<float>(power));
}

[[gnu::always_inline]] inline float VectorLog(float x) {
  constexpr float kInfinity = __builtin_inff();
  const bool subnormal = x < 1.17549435e-38f;
  const float log = VectorLogOfNormal(subnormal ? x * 8388608.0f : x, subnormal ? -23.0f : 0.0f);
  // Infinity and NaN are returned.
  const float upper = x < kInfinity ? log : x;
  const float lower = x == 0 ? -kInfinity : __builtin_nanf("");
  return x <= 0 ? lower : upper;
}

// log(1 + u) for u of [0, 1]: the rounding error of adding one is corrected.
[[gnu::always_inline]] inline float VectorLog1pOfUnit(float u) {
  const float sum = 1.0f + u;
  const float lost = u - (sum - 1.0f);
  return VectorLogOfNormal(sum, 0.0f) + lost / sum;
}

[[gnu::always_inline]] inline float VectorSoftplus(float x) {
  const float low = VectorLog1pOfUnit(VectorExp(-__builtin_fabsf(x)));
  return x != x ? x : (x > 0 ? x : 0.0f) + low;
}

// tanh(log(1 + e)), with e = exp(x), is (e^2 + 2 e) / (e^2 + 2 e + 2); one from 20 on.
[[gnu::always_inline]] inline float VectorMish(float x) {
  const float e = VectorExp(x > 20.0f ? 20.0f : x);
  const float n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

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
