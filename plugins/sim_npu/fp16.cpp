#include "fp16.hpp"

#include <cmath>
#include <limits>

namespace sim_npu {

float RoundedToHalf(float value) {
  if (!std::isinf(value)) value = value > kLargestHalf ? kLargestHalf : value < -kLargestHalf ? -kLargestHalf : value;
  return FloatOf(HalfOf(value));
}

namespace {

#if defined(__x86_64__)
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
#else
size_t RoundToHalfWide(const float*, float*, size_t) { return 0; }
#endif

}  // namespace

void RoundToHalf(const float* from, float* to, size_t count) {
  for (size_t i = deputy::sdk::detail::HasWideHalves() ? RoundToHalfWide(from, to, count) : 0; i < count; ++i)
    to[i] = RoundedToHalf(from[i]);
}

}  // namespace sim_npu
