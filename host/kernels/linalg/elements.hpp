// Loops over neighbouring elements that change their type: float32 or int32 to integers. Computed by the active level
// (level.hpp), on the calling thread; nothing allocates.
#pragma once

#include <cstdint>

namespace deputy::host::linalg {

// Towards zero; NaN gives 0, and what is out of range the nearest integer.
void Truncate(const float* x, int64_t count, int32_t* y);

// What 8 bits hold, as integers: uint8 or int8, whose bytes are written alike.
struct ByteRange {
  int32_t zero_point, lowest, largest;
};

// y = round(x / scale) + zero point, halves to even, the nearest of the range; NaN gives the lowest.
void Quantize(const float* x, int64_t count, float scale, ByteRange range, uint8_t* y);
// The same of x * multiplier; multipliers are `step` apart, 0 or 1.
void Requantize(const int32_t* x, int64_t count, const float* multipliers, int64_t step, ByteRange range, uint8_t* y);

}  // namespace deputy::host::linalg
