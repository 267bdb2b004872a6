// Boxes and regions of images: suppression of overlapping boxes, pooling of regions.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"

namespace deputy::host {

// Boxes of four numbers: two opposite corners (y, x, y, x), or a centre (x, y) and width and height.
struct Suppression {
  int64_t boxes = 0, limit = 0;
  float overlap_threshold = 0;  // of intersection over union; more than that is suppressed
  bool centers = false;
  bool by_score = false;  // only boxes with more than `score_threshold`
  float score_threshold = 0;
};

// Chooses boxes by falling score, of equal ones the first. `order` has room for all boxes, `chosen` for `limit` and for
// all; the number of chosen ones is returned.
int64_t SuppressOverlaps(const Suppression& how, const float* boxes, const float* scores, int64_t* order,
                         int64_t* chosen);

enum class RegionPool : uint8_t { kAverage, kMax };
struct RegionShape {
  int64_t channels = 0, height = 0, width = 0;  // of an image
  int64_t regions = 0, out_height = 0, out_width = 0;
};
struct RegionAlign {
  RegionPool pool = RegionPool::kAverage;
  int64_t sampling_ratio = 0;  // samples along each axis of a bin; 0: as many as the bin is long
  double scale = 1;
  bool half_pixel = true;  // coordinates are those of pixels' centres
};

// Regions are (x, y, x, y); `batches[r]`, in range, is the image of region r. Samples between pixels are interpolated.
template <class T>
void AlignRegions(const RegionShape& shape, const RegionAlign& how, const T* images, const T* regions,
                  const int64_t* batches, T* target, ThreadPool& pool);

// Regions are (batch, x, y, x, y), rounded to pixels; each bin has the maximum of its pixels, none gives zero.
template <class T>
void MaxPoolRegions(const RegionShape& shape, int64_t batch, double scale, const T* images, const T* regions, T* target,
                    ThreadPool& pool);

}  // namespace deputy::host
