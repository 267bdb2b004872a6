// Samples images at given positions, over any number of spatial axes, as defined by ONNX's GridSample operator.
#pragma once

#include <array>
#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

inline constexpr size_t kMaxGridAxes = 4;

enum class GridMode : uint8_t { kNearest, kLinear, kCubic };
enum class GridPadding : uint8_t { kZeros, kBorder, kReflection };

struct GridSampling {
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
};

// x is [batch, channels, extents...], without zero extents; the grid [batch, points, axes] with positions in [-1, 1],
// the last axis first; y is [batch, channels, points].
struct GridShape {
  int64_t batch = 0, channels = 0, points = 0;
  size_t axes = 0;
  std::array<int64_t, kMaxGridAxes> extents = {};
};

struct GridPositions {
  DType dtype;  // float32 or float64
  const void* data;
};

// T: float, double, or an integer.
template <class T>
void SampleGrid(const GridShape& shape, const GridSampling& how, const T* x, const GridPositions& positions, T* y,
                ThreadPool& pool);

}  // namespace deputy::host
