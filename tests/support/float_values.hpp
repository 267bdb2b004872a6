// Floats that kernels treat specially.
#pragma once

#include <limits>

namespace deputy::host {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace deputy::host
