// Half precision, the format of weights and of the matrix unit's factors: the SDK's conversions, and the matrix unit's
// rounding. NaN stays NaN and an infinity an infinity.
#pragma once

#include "deputy/sdk/half.hpp"

namespace sim_npu {

using deputy::sdk::FloatOf;
using deputy::sdk::HalfOf;
using deputy::sdk::ToFloat;
using deputy::sdk::ToHalf;

inline constexpr float kLargestHalf = 65504.0f;

// A finite number that is too large becomes the largest half (65504).
float RoundedToHalf(float value);
void RoundToHalf(const float* from, float* to, size_t count);

}  // namespace sim_npu
