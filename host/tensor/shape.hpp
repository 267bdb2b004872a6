// Helpers over extents.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace deputy::host {

// An extent that is not known before the run. Graph values may also hold symbols, all below it (graph/value.hpp).
inline constexpr int64_t kUnknownDim = -1;

// "[1,3,?,320]"
inline std::string ShapeToString(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) text += ",";
    text += dims[i] < 0 ? "?" : std::to_string(dims[i]);
  }
  return text + "]";
}

// Product of the extents. All must be known; sizes of existing tensors cannot overflow.
inline int64_t ElementCount(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

inline bool IsStatic(std::span<const int64_t> dims) {
  for (const int64_t dim : dims)
    if (dim < 0) return false;
  return true;
}

}  // namespace deputy::host
