// From floating point to integers without undefined behaviour.
#pragma once

#include <limits>

namespace deputy::host {

// Truncates; NaN gives 0, and values out of range the nearest integer of the type.
template <class Integer, class Float>
Integer SaturateCast(Float value) {
  // The bounds are powers of two, so that they are exact in every floating point type: [lowest, limit).
  constexpr Float kLimit = static_cast<Float>(std::numeric_limits<Integer>::max() / 2 + 1) * Float{2};
  constexpr Float kLowest = static_cast<Float>(std::numeric_limits<Integer>::lowest());
  if (value != value) return 0;
  if (value >= kLimit) return std::numeric_limits<Integer>::max();
  if (value <= kLowest) return std::numeric_limits<Integer>::lowest();
  return static_cast<Integer>(value);
}

}  // namespace deputy::host
