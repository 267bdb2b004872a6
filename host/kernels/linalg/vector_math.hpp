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

}  // namespace deputy::host
