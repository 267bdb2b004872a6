// Half precision, the only number format of the device's memory. Rounding is to nearest even; what is too large for a
// half becomes the largest one (65504) instead of infinity, as saturating hardware does. NaN stays NaN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim_npu {

inline constexpr float kLargestHalf = 65504.0f;

uint16_t HalfOf(float value);
float FloatOf(uint16_t half);

// Whole arrays, with the CPU's own conversion where it has one.
void ToHalf(const float* from, uint16_t* to, size_t count);
void ToFloat(const uint16_t* from, float* to, size_t count);

}  // namespace sim_npu
