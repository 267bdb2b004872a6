// Loops over neighbouring elements that convert float32 or int32 to integers. Computed by the active level (level.hpp),
// on the calling thread; nothing allocates.
#pragma once

#include <cstdint>

namespace deputy::host::linalg {

// Towards zero; NaN gives 0, and values out of range the nearest integer.
void Truncate(const float* x, int64_t count, int32_t* y);

// The range of uint8 or int8, which are written as the same bytes.
struct ByteRange {
  int32_t zero_point, lowest, largest;
};

// y = round(x / scale) + zero point, halves to even, clamped to the range; NaN gives the lowest.
void Quantize(const float* x, int64_t count, float scale, ByteRange range, uint8_t* y);
// The same for x * multiplier; multipliers are `step` apart, 0 or 1.
void Requantize(const int32_t* x, int64_t count, const float* multipliers, int64_t step, ByteRange range, uint8_t* y);

}  // namespace deputy::host::linalg
