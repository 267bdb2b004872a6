#include "kernels/grid_sample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kGrainPoints = 256;
constexpr size_t kMaxTaps = 4;

// Neighbours along one axis, and their weights; a neighbour of -1 has the value zero.
struct AxisTaps {
  std::array<int64_t, kMaxTaps> neighbours = {};
  std::array<double, kMaxTaps> weights = {};
};

// Reflects x at the bounds into [low, high].
double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  const double distance = x < low ? low - x : x - high;
  if (!(distance > 0)) return x;
  const double turns = std::floor(distance / range), rest = distance - turns * range;
  const bool even = std::fmod(turns, 2.0) == 0;
  if (x < low) return even ? low + rest : high - rest;
  return even ? high - rest : low + rest;
}

class AxisSampler {
 public:
  AxisSampler(const GridSampling& how, int64_t extent)
      : how_(how), extent_(extent), length_(static_cast<double>(extent)) {
    low_ = how.align_corners ? 0.0 : -0.5;
    high_ = how.align_corners ? length_ - 1 : length_ - 0.5;
  }

  AxisTaps At(double position) const {
    double x = how_.align_corners ? (position + 1) / 2 * (length_ - 1) : ((position + 1) * length_ - 1) / 2;
    // NaN, and coordinates too large to be exact, are far outside.
    if (!(std::fabs(x) < 0x1p40)) x = x > 0 ? 0x1p40 : -0x1p40;
    AxisTaps taps;
    if (how_.mode == GridMode::kNearest) x = std::nearbyint(x);
    if (how_.mode != GridMode::kCubic) x = Pad(x);
    const double below = std::floor(x), fraction = x - below;
    const int64_t first = static_cast<int64_t>(below);
    switch (how_.mode) {
      case GridMode::kNearest: Set(taps, 0, first, 1); break;
      case GridMode::kLinear:
        Set(taps, 0, first, 1 - fraction);
        Set(taps, 1, first + 1, fraction);
        break;
      case GridMode::kCubic:
        for (int64_t k = 0; k < 4; ++k)
          Set(taps, static_cast<size_t>(k), first - 1 + k, Cubic(static_cast<double>(k - 1) - fraction));
        break;
    }
    return taps;
  }

  static size_t TapCount(GridMode mode) { return mode == GridMode::kNearest ? 1 : mode == GridMode::kLinear ? 2 : 4; }

 private:
  double Pad(double x) const {
    if (x >= low_ && x <= high_) return x;
    if (how_.padding == GridPadding::kBorder) return std::clamp(x, 0.0, length_ - 1);
    return how_.padding == GridPadding::kReflection ? Reflect(x, low_, high_) : x;
  }

  void Set(AxisTaps& taps, size_t k, int64_t neighbour, double weight) const {
    taps.weights[k] = weight;
    if (neighbour < 0 || neighbour >= extent_) {
      if (how_.padding == GridPadding::kZeros) neighbour = -1;
      if (how_.padding == GridPadding::kBorder) neighbour = std::clamp<int64_t>(neighbour, 0, extent_ - 1);
      if (how_.padding == GridPadding::kReflection)
        neighbour = std::clamp<int64_t>(static_cast<int64_t>(Reflect(static_cast<double>(neighbour), low_, high_)), 0,
                                        extent_ - 1);
    }
    taps.neighbours[k] = neighbour;
  }

  static double Cubic(double distance) {
    constexpr double kA = -0.75;
    const double x = std::fabs(distance);
    if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
    return x < 2 ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA : 0;
  }

  const GridSampling& how_;
  int64_t extent_;
  double length_, low_, high_;
};

using PointTaps = std::array<AxisTaps, kMaxGridAxes>;

// Not inlined: it does not depend on the images' type.
[[gnu::noinline]] void FindTaps(const GridShape& shape, const GridSampling& how, const GridPositions& positions,
                                int64_t point, PointTaps& taps) {
  for (size_t axis = 0; axis < shape.axes; ++axis) {
    const int64_t at = (point + 1) * static_cast<int64_t>(shape.axes) - 1 - static_cast<int64_t>(axis);
    const double position = positions.dtype == DType::kFloat32
                                ? static_cast<double>(static_cast<const float*>(positions.data)[at])
                                : static_cast<const double*>(positions.data)[at];
    taps[axis] = AxisSampler(how, shape.extents[axis]).At(position);
  }
}

// Sums over all combinations of neighbours, from the outermost axis inwards.
template <class T>
double Sum(const GridShape& shape, const PointTaps& taps, size_t count, size_t axis, int64_t offset, const T* plane) {
  if (axis == shape.axes || axis >= kMaxGridAxes) return static_cast<double>(plane[offset]);
  double sum = 0;
  for (size_t k = 0; k < count; ++k) {
    if (taps[axis].neighbours[k] < 0 || taps[axis].weights[k] == 0) continue;
    sum += taps[axis].weights[k] *
           Sum(shape, taps, count, axis + 1, offset * shape.extents[axis] + taps[axis].neighbours[k], plane);
  }
  return sum;
}

// The nearest neighbour, unchanged.
template <class T>
T Nearest(const GridShape& shape, const PointTaps& taps, const T* plane) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < std::min(shape.axes, kMaxGridAxes); ++axis) {
    if (taps[axis].neighbours[0] < 0) return T(0);
    offset = offset * shape.extents[axis] + taps[axis].neighbours[0];
  }
  return plane[offset];
}

// For integers: truncated and clamped to the type's range.
template <class T>
T Narrowed(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
    constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
    if (value >= kHigh) return std::numeric_limits<T>::max();
    return value > kLow ? static_cast<T>(value) : std::numeric_limits<T>::min();
  }
}

}  // namespace

template <class T>
void SampleGrid(const GridShape& shape, const GridSampling& how, const T* x, const GridPositions& positions, T* y,
                ThreadPool& pool) {
  int64_t plane = 1;
  for (size_t axis = 0; axis < shape.axes; ++axis) plane *= shape.extents[axis];
  const size_t count = AxisSampler::TapCount(how.mode);
  int64_t taps_of_sample = 4;  // and as many steps as some taps for the rest
  for (size_t axis = 0; axis < shape.axes; ++axis) taps_of_sample *= static_cast<int64_t>(count);
  pool.ParallelFor(shape.batch * shape.points, kGrainPoints, [&](int64_t begin, int64_t end) {
    ForEachUntilEnd(begin, end, StepsOf(shape.channels + 8, taps_of_sample), [&](int64_t point) {
      PointTaps taps;
      FindTaps(shape, how, positions, point, taps);
      const int64_t image = point / shape.points, at = point % shape.points;
      const int64_t first = image * shape.channels;
      ForEachUntilEnd(first, first + shape.channels, taps_of_sample, [&](int64_t channel) {
        y[channel * shape.points + at] = how.mode == GridMode::kNearest
                                             ? Nearest(shape, taps, x + channel * plane)
                                             : Narrowed<T>(Sum(shape, taps, count, 0, 0, x + channel * plane));
      });
    });
  });
}

#define DEPUTY_SAMPLE_GRID(type)                                                                            \
  template void SampleGrid(const GridShape&, const GridSampling&, const type*, const GridPositions&, type*, \
                           ThreadPool&);
DEPUTY_SAMPLE_GRID(float)
DEPUTY_SAMPLE_GRID(double)
DEPUTY_SAMPLE_GRID(int8_t)
DEPUTY_SAMPLE_GRID(int16_t)
DEPUTY_SAMPLE_GRID(int32_t)
DEPUTY_SAMPLE_GRID(int64_t)
DEPUTY_SAMPLE_GRID(uint8_t)
DEPUTY_SAMPLE_GRID(uint16_t)
DEPUTY_SAMPLE_GRID(uint32_t)
DEPUTY_SAMPLE_GRID(uint64_t)
#undef DEPUTY_SAMPLE_GRID

}  // namespace deputy::host
