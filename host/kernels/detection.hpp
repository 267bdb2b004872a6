// Boxes and regions of images: non-maximum suppression, pooling of regions.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"

namespace deputy::host {

// Boxes of four numbers: two opposite corners (y, x, y, x), or a centre (x, y) and width and height.
struct Suppression {
  int64_t boxes = 0, limit = 0;
  float overlap_threshold = 0;  // of intersection over union; boxes above it are suppressed
  bool centers = false;
  bool by_score = false;  // only boxes with more than `score_threshold`
  float score_threshold = 0;
};

// Selects boxes, of at most kMostPacked (sort.hpp), by descending score, of equal ones the first. `order` has room for
// all boxes, `chosen` for `limit` and for all; returns the number of selected boxes.
int64_t SuppressOverlaps(const Suppression& how, const float* boxes, const float* scores, int64_t* order,
                         int64_t* chosen);

enum class RegionPool : uint8_t { kAverage, kMax };
struct RegionShape {
  int64_t channels = 0, height = 0, width = 0;  // of an image
  int64_t regions = 0, out_height = 0, out_width = 0;
};
struct RegionAlign {
  RegionPool pool = RegionPool::kAverage;
  int64_t sampling_ratio = 0;  // samples along each axis of a bin; 0: the bin's length
  double scale = 1;
  bool half_pixel = true;  // coordinates are those of pixel centers
};

// Regions are (x, y, x, y); `batches[r]`, in range, is the image of region r. Samples between pixels are interpolated.
template <class T>
void AlignRegions(const RegionShape& shape, const RegionAlign& how, const T* images, const T* regions,
                  const int64_t* batches, T* target, ThreadPool& pool);

// Regions are (batch, x, y, x, y), rounded to pixels; each bin is the maximum of its pixels, or zero without pixels.
template <class T>
void MaxPoolRegions(const RegionShape& shape, int64_t batch, double scale, const T* images, const T* regions, T* target,
                    ThreadPool& pool);

}  // namespace deputy::host
