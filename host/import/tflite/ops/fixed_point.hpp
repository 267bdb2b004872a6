// The fixed-point arithmetic in which LiteRT computes quantized recurrent layers, so that results are the same to the
// bit: its functions of 16 bits as tables, and its products of integers with a real factor.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy::host::tflite_import {

// int16 [65536]: element i is the function of i - 32768, a fixed-point number with so many bits before the point. The
// results have none: 32768 is 1. The approximations are those of gemmlowp, a Taylor expansion of exp and Newton's
// method for the quotient.
Result<Tensor> LogisticTable(int integer_bits);
Result<Tensor> TanhTable(int integer_bits);

// A factor as integers of 31 bits: multiplier * 2^(exponent - 31).
struct FixedFactor {
  int64_t multiplier = 0;
  int exponent = 0;

  static FixedFactor Of(double factor);
};

}  // namespace deputy::host::tflite_import
