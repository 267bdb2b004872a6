// Resamples a dense tensor along its axes, one after the other. Coordinates, neighbours and weights follow the Resize
// operator of the ONNX specification; they are computed once per axis, as tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.hpp"

namespace deputy::host {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};
// kFloorOrCeil is Resize before opset 11: floor when it enlarges, ceil when it shrinks.
enum class ResizeNearestMode : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kFloorOrCeil };

struct ResizeMethod {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeNearestMode nearest = ResizeNearestMode::kRoundPreferFloor;
  bool antialias = false;        // widens the filter when it shrinks
  bool exclude_outside = false;  // neighbours outside have weight 0, instead of the value of the nearest one inside
  float cubic_coefficient = -0.75f;
  float extrapolation_value = 0;  // for coordinates outside, with kTfCropAndResize only
};

// One axis to resize. `length` is the output's extent before rounding; the region is for kTfCropAndResize.
struct ResizeAxis {
  int64_t input = 0, output = 0;
  float scale = 1, length = 0;
  float region_begin = 0, region_end = 1;
};

// False when the axis does not change.
bool ResizeChanges(const ResizeMethod& method, const ResizeAxis& axis);

// Neighbours of one output position, for kLinear and kCubic; the same for all positions of the axis.
int64_t ResizeTaps(const ResizeMethod& method, const ResizeAxis& axis);

// For every output position `taps` neighbours, all inside the input, and their weights.
template <class T>
void ResizeWeights(const ResizeMethod& method, const ResizeAxis& axis, int64_t* neighbours, T* weights);

// For kNearest: the neighbour of every output position.
void ResizeNeighbours(const ResizeMethod& method, const ResizeAxis& axis, int64_t* neighbours);

// Not zero for output positions with a coordinate outside the input.
void ResizeOutside(const ResizeMethod& method, const ResizeAxis& axis, uint8_t* outside);

// The tensor with the resampled axis in the middle: [outer, input, inner] to [outer, output, inner].
struct ResizeExtents {
  int64_t outer = 1, input = 1, output = 1, inner = 1;
};
template <class T>
void ResizeAlong(const ResizeExtents& extents, int64_t taps, const int64_t* neighbours, const T* weights,
                 const T* source, T* target, ThreadPool& pool);

// target[i0,..] = source[maps[0][i0],..]; `maps` holds the maps of all dimensions one after the other. Elements are of
// 1, 2, 4 or 8 bytes.
void ResizeByMaps(std::span<const int64_t> source_dims, std::span<const int64_t> target_dims, const int64_t* maps,
                  const void* source, void* target, size_t element_bytes, ThreadPool& pool);

// Writes `value` to positions that are outside along any dimension; `outside` holds one list per dimension.
void FillOutside(std::span<const int64_t> dims, const uint8_t* outside, const void* value, void* target,
                 size_t element_bytes);

}  // namespace deputy::host
