// Half precision, the format of weights and of the matrix unit's factors. Rounding is to nearest even; NaN stays NaN
// and an infinity an infinity.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim_npu {

inline constexpr float kLargestHalf = 65504.0f;

// Numbers too large for a half become infinities, as IEEE 754 specifies.
uint16_t HalfOf(float value);
float FloatOf(uint16_t half);
// The matrix unit's rounding: a finite number that is too large becomes the largest half (65504).
float RoundedToHalf(float value);

// Whole arrays, with the CPU's own conversion where it has one.
void ToHalf(const float* from, uint16_t* to, size_t count);
void ToFloat(const uint16_t* from, float* to, size_t count);
void RoundToHalf(const float* from, float* to, size_t count);

}  // namespace sim_npu
