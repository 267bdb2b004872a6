// The numbers that elements of storage types encode: floats of 4 and 8 bits, integers of 2 and 4. Sources: "FP8 Formats
// for Deep Learning" (arXiv:2209.05433), "8-bit Numerical Formats for Deep Neural Networks" (arXiv:2206.02915) for the
// FNUZ ones, the OCP Microscaling Formats specification 1.0 for float4e2m1 and float8e8m0.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "deputy/dtype.hpp"

namespace deputy {

// The bits of element `index` of densely stored elements of less than a byte or of one byte. [any-thread]
inline uint8_t CodeAt(DType dtype, const void* data, int64_t index) {
  const size_t bits = BitsOf(dtype), first = static_cast<size_t>(index) * bits;
  const unsigned byte = static_cast<const uint8_t*>(data)[first / 8];
  return static_cast<uint8_t>((byte >> (first % 8)) & ((1U << bits) - 1));
}

// Writes the low bits of `code` as element `index`; elements that share its byte are kept, but not if another thread
// writes them.
inline void SetCode(DType dtype, void* data, int64_t index, uint8_t code) {
  const size_t bits = BitsOf(dtype), first = static_cast<size_t>(index) * bits, shift = first % 8;
  uint8_t& byte = static_cast<uint8_t*>(data)[first / 8];
  const unsigned mask = ((1U << bits) - 1) << shift;
  byte = static_cast<uint8_t>((byte & ~mask) | ((static_cast<unsigned>(code) << shift) & mask));
}

// The number that the bits encode. `dtype` must be a storage type. [any-thread]
inline float DecodeStorage(DType dtype, uint8_t code) {
  const auto number = [code](int exponent_bits, int mantissa_bits, int bias) {
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    const int exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const bool negative = (code >> (mantissa_bits + exponent_bits)) & 1;
    const int significand = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
    const float size =
        std::ldexp(static_cast<float>(significand), (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
    return negative ? -size : size;
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  switch (dtype) {
    case DType::kFloat8E4M3FN: return (code & 0x7f) == 0x7f ? kNan : number(4, 3, 7);
    case DType::kFloat8E4M3FNUZ: return code == 0x80 ? kNan : number(4, 3, 8);
    case DType::kFloat8E5M2:
      if ((code & 0x7f) > 0x7c) return kNan;
      if ((code & 0x7f) == 0x7c) return (code & 0x80) != 0 ? -INFINITY : INFINITY;
      return number(5, 2, 15);
    case DType::kFloat8E5M2FNUZ: return code == 0x80 ? kNan : number(5, 2, 16);
    case DType::kFloat8E8M0: return code == 0xff ? kNan : std::ldexp(1.0f, code - 127);
    case DType::kFloat4E2M1: return number(2, 1, 1);
    case DType::kInt4: return static_cast<float>((code & 7) - (code & 8));
    case DType::kInt2: return static_cast<float>((code & 1) - (code & 2));
    default: return static_cast<float>(code);
  }
}

}  // namespace deputy
