// Logarithms of float, and functions of them and the exponential, with the guarantees of vector_math.hpp.
#pragma once

#include "kernels/linalg/vector_math.hpp"

namespace deputy::host {

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

}  // namespace deputy::host
