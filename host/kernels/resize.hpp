// Resamples a dense tensor along its axes, one after the other. Coordinates, neighbours and weights follow the Resize
// operator of the ONNX specification; they are worked out once per axis, as tables.
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
// kFloorOrCeil is what Resize did before opset 11: down where it enlarges, up where it shrinks.
enum class ResizeNearestMode : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kFloorOrCeil };

struct ResizeMethod {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeNearestMode nearest = ResizeNearestMode::kRoundPreferFloor;
  bool antialias = false;        // widens the filter where it shrinks
  bool exclude_outside = false;  // neighbours outside count nothing, instead of as the nearest one inside
  float cubic_coefficient = -0.75f;
  float extrapolation_value = 0;  // for coordinates outside, with kTfCropAndResize only
};

// One axis that changes. `length` is the output's extent before it was rounded; the region is of kTfCropAndResize.
struct ResizeAxis {
  int64_t input = 0, output = 0;
  float scale = 1, length = 0;
  float region_begin = 0, region_end = 1;
};

// False when the axis comes out as it went in.
bool ResizeChanges(const ResizeMethod& method, const ResizeAxis& axis);

// Neighbours of one output position, for kLinear and kCubic; the same for all positions of the axis.
int64_t ResizeTaps(const ResizeMethod& method, const ResizeAxis& axis);

// For every output position `taps` neighbours, all inside the input, and their weights.
template <class T>
void ResizeWeights(const ResizeMethod& method, const ResizeAxis& axis, int64_t* neighbours, T* weights);

// For kNearest: the one neighbour of every output position.
void ResizeNeighbours(const ResizeMethod& method, const ResizeAxis& axis, int64_t* neighbours);

// Not zero for the output positions whose coordinate lies outside the input.
void ResizeOutside(const ResizeMethod& method, const ResizeAxis& axis, uint8_t* outside);

// The tensor around the axis that is resampled: [outer, input, inner] to [outer, output, inner].
struct ResizeExtents {
  int64_t outer = 1, input = 1, output = 1, inner = 1;
};
template <class T>
void ResizeAlong(const ResizeExtents& extents, int64_t taps, const int64_t* neighbours, const T* weights,
                 const T* source, T* target, ThreadPool& pool);

// target[i0,..] = source[maps[0][i0],..]; `maps` holds one map per dimension, one behind the other. Elements are of 1,
// 2, 4 or 8 bytes.
void ResizeByMaps(std::span<const int64_t> source_dims, std::span<const int64_t> target_dims, const int64_t* maps,
                  const void* source, void* target, size_t element_bytes, ThreadPool& pool);

// Writes `value` wherever a position is outside along any dimension; `outside` holds one list per dimension.
void FillOutside(std::span<const int64_t> dims, const uint8_t* outside, const void* value, void* target,
                 size_t element_bytes);

}  // namespace deputy::host
