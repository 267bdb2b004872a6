// Numbers that stand for the end of a type's range: the maximum of nothing, a mask.
#pragma once

#include <cmath>
#include <limits>

#include "deputy/dtype.hpp"

namespace deputy::host {

// Whether a finite number has at least half the magnitude of the largest one of its floating-point type. False for
// other types and for infinities.
inline bool IsLimit(DType dtype, double value) {
  double largest = 0;
  switch (dtype) {
    case DType::kFloat16: largest = 65504; break;
    case DType::kBFloat16:
    case DType::kFloat32: largest = std::numeric_limits<float>::max(); break;
    case DType::kFloat64: largest = std::numeric_limits<double>::max(); break;
    default: return false;
  }
  return std::isfinite(value) && std::fabs(value) >= largest / 2;
}

}  // namespace deputy::host
