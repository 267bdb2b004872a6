#include "kernels/resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/cancellation.hpp"
#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"

namespace deputy::host {
namespace {

// The input coordinate of an output position. In single precision, as in the runtimes that models are tested with:
// positions halfway between two neighbours depend on it.
float Coordinate(ResizeCoordinates coordinates, const ResizeAxis& axis, int64_t position) {
  const float x = static_cast<float>(position), input = static_cast<float>(axis.input);
  switch (coordinates) {
    case ResizeCoordinates::kHalfPixel: return (x + 0.5f) / axis.scale - 0.5f;
    case ResizeCoordinates::kHalfPixelSymmetric: {
      const float adjustment = static_cast<float>(axis.output) / axis.length, offset = input / 2 * (1 - adjustment);
      return static_cast<float>(offset + (x + 0.5) / axis.scale - 0.5);
    }
    case ResizeCoordinates::kPytorchHalfPixel: return axis.output > 1 ? (x + 0.5f) / axis.scale - 0.5f : 0.0f;
    case ResizeCoordinates::kAlignCorners: return axis.length == 1.0f ? 0.0f : x * (input - 1) / (axis.length - 1);
    case ResizeCoordinates::kAsymmetric: return x / axis.scale;
    case ResizeCoordinates::kTfHalfPixelForNn: return (x + 0.5f) / axis.scale;
    case ResizeCoordinates::kTfCropAndResize: {
      const float extent = axis.region_end - axis.region_begin;
      if (axis.length <= 1) return 0.5f * (axis.region_begin + axis.region_end) * (input - 1);
      return axis.region_begin * (input - 1) + x * extent * (input - 1) / (axis.length - 1);
    }
  }
  return 0;
}

// Before rounding to an integer: coordinates far outside are clamped near the edge.
float Near(const ResizeAxis& axis, float x) {
  const float limit = static_cast<float>(axis.input);
  return x > -limit ? std::min(x, 2 * limit) : -limit;
}

int64_t Nearest(ResizeNearestMode mode, const ResizeAxis& axis, float x) {
  const float below = std::floor(x);
  const auto at = [](float value) { return static_cast<int64_t>(value); };
  switch (mode) {
    case ResizeNearestMode::kRoundPreferFloor: return at(x - below <= 0.5f ? below : below + 1);
    case ResizeNearestMode::kRoundPreferCeil: return at(x - below < 0.5f ? below : below + 1);
    case ResizeNearestMode::kFloor: return at(below);
    case ResizeNearestMode::kCeil: return at(std::ceil(x));
    case ResizeNearestMode::kFloorOrCeil: return at(axis.scale < 1 ? std::ceil(x) : below);
  }
  return 0;
}

double LinearFilter(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

// Keys' cubic convolution with coefficient a.
double CubicFilter(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// The factor by which the filter is widened to cover one output's interval of the input.
double Stretch(const ResizeMethod& method, const ResizeAxis& axis) {
  return method.antialias && axis.scale < 1 ? 1 / static_cast<double>(axis.scale) : 1.0;
}

double Support(const ResizeMethod& method, const ResizeAxis& axis) {
  return (method.mode == ResizeMode::kCubic ? 2 : 1) * Stretch(method, axis);
}

// Elements of work between two checks whether the run ends.
constexpr int64_t kResizePart = 1 << 18;

// Calls fn(position) for the outputs of an axis, which takes so many steps each, until the run ends.
template <class F>
void ForEachPosition(const ResizeAxis& axis, int64_t steps, F&& fn) {
  InParts(axis.output, std::max<int64_t>(1, kResizePart / std::max<int64_t>(1, steps)),
          [&](int64_t begin, int64_t end) {
            for (int64_t position = begin; position < end; ++position) fn(position);
          });
}

bool Stopped() {
  const CancellationScope* const scope = CancellationScope::Current();
  return scope != nullptr && scope->stopped();
}

}  // namespace

bool ResizeChanges(const ResizeMethod& method, const ResizeAxis& axis) {
  if (axis.input != axis.output || axis.scale != 1) return true;
  return method.coordinates == ResizeCoordinates::kTfCropAndResize && (axis.region_begin != 0 || axis.region_end != 1);
}

int64_t ResizeTaps(const ResizeMethod& method, const ResizeAxis& axis) {
  // At most the positions strictly inside (x - support, x + support). An output of one element and more, which a kept
  // aspect ratio may have rounded up, has a scale of at least 1 / (2 * input), so that the bound only prevents an
  // overflow for axes without output.
  const double support = std::min(Support(method, axis), 4.0 * static_cast<double>(axis.input) + 2);
  return 2 * static_cast<int64_t>(std::ceil(support));
}

template <class T>
void ResizeWeights(const ResizeMethod& method, const ResizeAxis& axis, int64_t* neighbours, T* weights) {
  const int64_t taps = ResizeTaps(method, axis);
  const double stretch = Stretch(method, axis), a = static_cast<double>(method.cubic_coefficient);
  ForEachPosition(axis, taps, [&](int64_t position) {
    const double x = static_cast<double>(Near(axis, Coordinate(method.coordinates, axis, position)));
    const int64_t first = static_cast<int64_t>(std::floor(x)) + 1 - taps / 2;
    double sum = 0;
    int64_t* at = neighbours + position * taps;
    T* weight = weights + position * taps;
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t neighbour = first + k;
      at[k] = std::clamp<int64_t>(neighbour, 0, axis.input - 1);
      const double distance = (static_cast<double>(neighbour) - x) / stretch;
      double value = method.mode == ResizeMode::kCubic ? CubicFilter(distance, a) : LinearFilter(distance);
      if (method.exclude_outside && at[k] != neighbour) value = 0;
      weight[k] = static_cast<T>(value);
      sum += value;
    }
    if (sum == 0 || (!method.exclude_outside && stretch == 1.0)) return;  // plain filters have the sum one
    for (int64_t k = 0; k < taps; ++k) weight[k] = static_cast<T>(static_cast<double>(weight[k]) / sum);
  });
}

template void ResizeWeights<float>(const ResizeMethod&, const ResizeAxis&, int64_t*, float*);
template void ResizeWeights<double>(const ResizeMethod&, const ResizeAxis&, int64_t*, double*);

void ResizeNeighbours(const ResizeMethod& method, const ResizeAxis& axis, int64_t* neighbours) {
  ForEachPosition(axis, 1, [&](int64_t position) {
    const float x = Near(axis, Coordinate(method.coordinates, axis, position));
    neighbours[position] = std::clamp<int64_t>(Nearest(method.nearest, axis, x), 0, axis.input - 1);
  });
}

void ResizeOutside(const ResizeMethod& method, const ResizeAxis& axis, uint8_t* outside) {
  ForEachPosition(axis, 1, [&](int64_t position) {
    const float x = Coordinate(method.coordinates, axis, position);
    outside[position] = !(x >= 0 && x <= static_cast<float>(axis.input - 1));
  });
}

namespace {

template <class T>
void ResizeRow(int64_t begin, int64_t end, int64_t taps, const int64_t* neighbours, const T* weights, const T* from,
               T* to) {
  if (taps == 2) {
    for (int64_t i = begin; i < end; ++i)
      to[i] = from[neighbours[2 * i]] * weights[2 * i] + from[neighbours[2 * i + 1]] * weights[2 * i + 1];
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    T sum = 0;
    for (int64_t k = i * taps; k < (i + 1) * taps; ++k) sum += from[neighbours[k]] * weights[k];
    to[i] = sum;
  }
}

// The part [begin, end) of an output row as the weighted sum of input rows.
template <class T>
void MixRows(int64_t inner, int64_t begin, int64_t end, int64_t taps, const int64_t* neighbours, const T* weights,
             const T* from, T* to) {
  if (taps == 2) {
    const T *a = from + neighbours[0] * inner, *b = from + neighbours[1] * inner;
    const T first = weights[0], second = weights[1];
    for (int64_t i = begin; i < end; ++i) to[i] = a[i] * first + b[i] * second;
    return;
  }
  std::fill(to + begin, to + end, T{0});
  for (int64_t k = 0; k < taps; ++k) {
    const T* row = from + neighbours[k] * inner;
    const T weight = weights[k];
    if (weight == 0) continue;
    for (int64_t i = begin; i < end; ++i) to[i] += row[i] * weight;
  }
}

// Each element `factor` times.
template <int64_t kFactor, class T>
void RepeatRow(const T* from, T* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < kFactor; ++k) to[i * kFactor + k] = from[i];
}

bool Repeats(const int64_t* map, int64_t count, int64_t factor) {
  bool repeats = true;
  InParts(count, kResizePart, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && repeats; ++i) repeats = map[i] == i / factor;
  });
  return repeats;
}

}  // namespace

template <class T>
void ResizeAlong(const ResizeExtents& extents, int64_t taps, const int64_t* neighbours, const T* weights,
                 const T* source, T* target, ThreadPool& pool) {
  if (extents.outer * extents.output * extents.inner == 0 || Stopped()) return;  // stopped: no list is complete
  if (extents.inner == 1) {
    pool.ParallelFor(extents.outer, kGrainElements / (extents.output * taps) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        InParts(extents.output, std::max<int64_t>(1, kResizePart / taps), [&](int64_t first, int64_t last) {
          ResizeRow(first, last, taps, neighbours, weights, source + row * extents.input,
                    target + row * extents.output);
        });
    });
    return;
  }
  pool.ParallelFor(
      extents.outer * extents.output, kGrainElements / (extents.inner * taps) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t outer = row / extents.output, position = row % extents.output;
          const int64_t part = std::max<int64_t>(1, kResizePart * 4 / taps);
          InParts(extents.inner, part, [&](int64_t first, int64_t last) {
            MixRows(extents.inner, first, last, taps, neighbours + position * taps, weights + position * taps,
                    source + outer * extents.input * extents.inner, target + row * extents.inner);
          });
        }
      });
}

template void ResizeAlong<float>(const ResizeExtents&, int64_t, const int64_t*, const float*, const float*, float*,
                                 ThreadPool&);
template void ResizeAlong<double>(const ResizeExtents&, int64_t, const int64_t*, const double*, const double*, double*,
                                  ThreadPool&);

void ResizeByMaps(std::span<const int64_t> source_dims, std::span<const int64_t> target_dims, const int64_t* maps,
                  const void* source, void* target, size_t element_bytes, ThreadPool& pool) {
  int64_t rows = 1;
  for (const int64_t extent : target_dims)
    if (extent == 0) return;
  const size_t last = target_dims.size() - 1;
  SmallDims first;  // the begin of each dimension's map
  int64_t offset = 0;
  for (const int64_t extent : target_dims) {
    first.push_back(offset);
    offset += extent;
  }
  if (Stopped()) return;  // the maps are incomplete
  for (size_t d = 0; d < last; ++d) rows *= target_dims[d];
  const SmallDims strides = DenseStrides(source_dims);
  const int64_t row = target_dims[last], length = source_dims[last];
  const int64_t* map = maps + first[last];
  const int64_t factor = row % length == 0 && Repeats(map, row, row / length) ? row / length : 0;
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    pool.ParallelFor(rows, kGrainElements / row + 1, [&](int64_t begin, int64_t end) {
      int64_t before = -1;
      for (int64_t i = begin; i < end; ++i) {
        int64_t base = 0, rest = i;
        for (size_t d = last; d-- > 0;) {
          base += maps[first[d] + rest % target_dims[d]] * strides[d];
          rest /= target_dims[d];
        }
        const T* from = static_cast<const T*>(source) + base;
        T* to = static_cast<T*>(target) + i * row;
        if (base == before) {
          CopyInParts(to, to - row, static_cast<size_t>(row) * sizeof(T));
        } else if (factor == 1) {
          CopyInParts(to, from, static_cast<size_t>(row) * sizeof(T));
        } else if (factor == 2) {
          InParts(length, kResizePart,
                  [&](int64_t low, int64_t high) { RepeatRow<2>(from + low, to + 2 * low, high - low); });
        } else if (factor == 4) {
          InParts(length, kResizePart,
                  [&](int64_t low, int64_t high) { RepeatRow<4>(from + low, to + 4 * low, high - low); });
        } else {
          InParts(row, kResizePart, [&](int64_t low, int64_t high) {
            for (int64_t j = low; j < high; ++j) to[j] = from[map[j]];
          });
        }
        before = base;
      }
    });
  });
}

void FillOutside(std::span<const int64_t> dims, const uint8_t* outside, const void* value, void* target,
                 size_t element_bytes) {
  int64_t count = 1;
  for (const int64_t extent : dims) count *= extent;
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T filler;
    std::memcpy(&filler, value, sizeof filler);
    InParts(count, kResizePart, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        int64_t rest = i;
        const uint8_t* end = outside;
        for (const int64_t extent : dims) end += extent;
        for (size_t d = dims.size(); d-- > 0;) {
          end -= dims[d];
          if (end[rest % dims[d]] != 0) {
            static_cast<T*>(target)[i] = filler;
            break;
          }
          rest /= dims[d];
        }
      }
    });
  });
}

}  // namespace deputy::host
