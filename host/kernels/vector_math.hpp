// Elementary functions of float without branches or calls, so that loops over them become vector code. Within 3 units
// in the last place of the true value (tests/unit/kernels/vector_math_test.cpp); infinities and NaN as in <cmath>.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace deputy::host {

// Cephes expf (netlib.org/cephes): reduction by log(2) in two parts, then a polynomial of degree 7.
inline float VectorExp(float x) {
  // Outside of these bounds the result is 0 or infinite anyway; NaN fails both comparisons and passes.
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  const float shifted = x * 1.44269504088896341f + kShift;
  const float n = shifted - kShift;
  const int32_t power = static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kShift));
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // The power is applied in two halves: 2^128 and 2^-150 have no float of their own.
  const int32_t half = power / 2;
  const auto two_to = [](int32_t e) { return std::bit_cast<float>((static_cast<uint32_t>(e) + 127u) << 23); };
  return p * two_to(half) * two_to(power - half);
}

// Cephes tanhf: an odd polynomial near zero, otherwise from the exponential.
inline float VectorTanh(float x) {
  const float magnitude = std::fabs(x);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * magnitude + magnitude;
  const float far = 1.0f - 2.0f / (VectorExp(magnitude + magnitude) + 1.0f);
  return std::copysign(magnitude < 0.625f ? near : far, x);
}

inline float VectorSigmoid(float x) { return 1.0f / (1.0f + VectorExp(-x)); }

}  // namespace deputy::host
