// The hyperbolic tangent of many numbers. oneDNN's for AVX2 looks coefficients up lane by lane, and is five to seven
// times slower than a plain loop; the one for AVX-512 is not: this is for processors that have HasVectors().
#pragma once

#include <cstdint>

namespace onednn {

// y = tanh(x) within 4 units in the last place; NaN stays NaN. y may be x. Uses OpenMP threads where that pays.
void ComputeTanh(const float* x, float* y, int64_t count);

}  // namespace onednn
