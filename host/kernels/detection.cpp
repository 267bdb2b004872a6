#include "kernels/detection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/parts.hpp"
#include "kernels/sort.hpp"

namespace deputy::host {
namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

Box BoxAt(const float* numbers, bool center) {
  if (center) {
    const float x = numbers[0], y = numbers[1], width = numbers[2], height = numbers[3];
    return {y - height / 2, x - width / 2, y + height / 2, x + width / 2};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]), std::max(numbers[0], numbers[2]),
          std::max(numbers[1], numbers[3])};
}

bool Overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0) || !(a.area() > 0) || !(b.area() > 0)) return false;
  const float shared = height * width, all = a.area() + b.area() - shared;
  return all > 0 && shared / all > threshold;
}

}  // namespace

int64_t SuppressOverlaps(const Suppression& how, const float* boxes, const float* scores, int64_t* order,
                         int64_t* chosen) {
  int64_t* end = order;
  InPartsOf(how.boxes, 1, [&](int64_t begin, int64_t stop) {
    for (int64_t i = begin; i < stop; ++i)
      if (how.by_score ? scores[i] > how.score_threshold : scores[i] == scores[i])
        *end++ = Packed(scores[i], i, /*largest_first=*/true);
  });
  SortUntilEnd(order, end);
  int64_t count = 0;
  EndCheck check;
  constexpr int64_t kStepsOfPair = 8;
  for (const int64_t* next = order; next != end && count < how.limit; ++next) {
    if (check.Ends((count + 1) * kStepsOfPair)) return count;
    const int64_t place = PlaceOf(*next);
    const Box box = BoxAt(boxes + place * 4, how.centers);
    bool free = true;
    for (int64_t i = 0; free && i < count; ++i)
      free = !Overlap(box, BoxAt(boxes + chosen[i] * 4, how.centers), how.overlap_threshold);
    if (free) chosen[count++] = place;
  }
  return count;
}

namespace {

// A sample between four pixels, with their weights.
struct Sample {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  double weights[4] = {0, 0, 0, 0};
};

Sample SampleAt(const RegionShape& shape, double y, double x) {
  Sample sample;
  const double height = static_cast<double>(shape.height), width = static_cast<double>(shape.width);
  if (!(y >= -1 && y <= height && x >= -1 && x <= width)) return sample;  // no pixels around it
  y = std::clamp(y, 0.0, height - 1);
  x = std::clamp(x, 0.0, width - 1);
  sample.top = static_cast<int64_t>(y);
  sample.left = static_cast<int64_t>(x);
  sample.bottom = std::min(sample.top + 1, shape.height - 1);
  sample.right = std::min(sample.left + 1, shape.width - 1);
  const double low = y - static_cast<double>(sample.top), right = x - static_cast<double>(sample.left);
  sample.weights[0] = (1 - low) * (1 - right);
  sample.weights[1] = (1 - low) * right;
  sample.weights[2] = low * (1 - right);
  sample.weights[3] = low * right;
  return sample;
}

// The bins of a region along one axis.
struct Bins {
  double begin = 0, size = 0;
  int64_t samples = 1;

  Bins(double first, double last, const RegionAlign& how, int64_t count) {
    const double offset = how.half_pixel ? 0.5 : 0.0;
    begin = first * how.scale - offset;
    double length = last * how.scale - offset - begin;
    if (!how.half_pixel) length = std::max(length, 1.0);
    size = length / static_cast<double>(count);
    // The product of two axes of this many samples does not overflow.
    const int64_t length_in_pixels = size > 0 ? static_cast<int64_t>(std::min(std::ceil(size), 0x1p30)) : 0;
    samples = how.sampling_ratio > 0 ? how.sampling_ratio : length_in_pixels;
  }
  double At(int64_t bin, int64_t sample) const {
    return begin + static_cast<double>(bin) * size +
           (static_cast<double>(sample) + 0.5) * size / static_cast<double>(samples);
  }

  // The samples of a bin that may be inside an image of this extent: samples far outside cost no time.
  struct Range {
    int64_t first = 0, last = 0;
  };
  Range Near(int64_t bin, int64_t extent) const {
    const double step = size / static_cast<double>(samples), base = At(bin, 0);
    if (samples == 0 || !std::isfinite(base)) return {};
    if (step == 0) return {0, samples};
    double first = (-1 - base) / step, last = (static_cast<double>(extent) - base) / step;
    if (last < first) std::swap(first, last);
    const double most = static_cast<double>(samples);
    return {static_cast<int64_t>(std::clamp(std::floor(first) - 1, 0.0, most)),
            static_cast<int64_t>(std::clamp(std::ceil(last) + 2, 0.0, most))};
  }
};

// NaN is larger than every number, as in Max.
template <class T>
T LargerShare(T best, T value) {
  return value > best || value != value ? value : best;
}

// 0 where the run ends.
template <class T>
T PoolBin(const RegionShape& shape, const RegionAlign& how, const T* plane, const Bins& rows, const Bins& columns,
          int64_t row, int64_t column, EndCheck& check) {
  constexpr int64_t kStepsOfSample = 16;
  double sum = 0, largest = std::numeric_limits<double>::lowest();
  const int64_t count = rows.samples * columns.samples;
  const Bins::Range down = rows.Near(row, shape.height), across = columns.Near(column, shape.width);
  const int64_t visited = (down.last - down.first) * (across.last - across.first);
  if (visited < count) largest = 0;  // the value of the samples outside
  if (check.Ends(kStepsOfSample)) return T(0);
  for (int64_t i = down.first; i < down.last; ++i) {
    for (int64_t j = across.first; j < across.last; ++j) {
      const Sample sample = SampleAt(shape, rows.At(row, i), columns.At(column, j));
      const int64_t at[4] = {sample.top * shape.width + sample.left, sample.top * shape.width + sample.right,
                             sample.bottom * shape.width + sample.left, sample.bottom * shape.width + sample.right};
      // By its definition the maximum is that of the four weighted pixels, not of the interpolated samples.
      for (int k = 0; k < 4; ++k) {
        const double share = sample.weights[k] * static_cast<double>(plane[at[k]]);
        sum += share;
        largest = LargerShare(largest, share);
      }
      if (check.Ends(kStepsOfSample)) return T(0);
    }
  }
  if (count == 0) return T(0);
  return static_cast<T>(how.pool == RegionPool::kMax ? largest : sum / static_cast<double>(count));
}

}  // namespace

template <class T>
void AlignRegions(const RegionShape& shape, const RegionAlign& how, const T* images, const T* regions,
                  const int64_t* batches, T* target, ThreadPool& pool) {
  const int64_t plane = shape.height * shape.width, bins = shape.out_height * shape.out_width;
  pool.ParallelFor(shape.regions * shape.channels, 1, [&](int64_t begin, int64_t end) {
    InParts(end - begin, 1, [&](int64_t done, int64_t) {
      const int64_t item = begin + done;
      const int64_t region = item / shape.channels, channel = item % shape.channels;
      const T* corners = regions + region * 4;
      const Bins columns(static_cast<double>(corners[0]), static_cast<double>(corners[2]), how, shape.out_width);
      const Bins rows(static_cast<double>(corners[1]), static_cast<double>(corners[3]), how, shape.out_height);
      const T* from = images + (batches[region] * shape.channels + channel) * plane;
      EndCheck check;
      for (int64_t bin = 0; bin < bins && !check.ended(); ++bin)
        target[item * bins + bin] =
            PoolBin(shape, how, from, rows, columns, bin / shape.out_width, bin % shape.out_width, check);
    });
  });
}

namespace {

// Pixels [first, last) of bin `bin` among `count`, for a region of pixels [begin, begin + length).
struct PixelRange {
  int64_t first, last;
};
PixelRange PixelsOf(int64_t bin, int64_t count, int64_t begin, int64_t length, int64_t extent) {
  const double size = static_cast<double>(length) / static_cast<double>(count);
  const int64_t first = static_cast<int64_t>(std::floor(static_cast<double>(bin) * size));
  const int64_t last = static_cast<int64_t>(std::ceil(static_cast<double>(bin + 1) * size));
  return {std::clamp<int64_t>(begin + first, 0, extent), std::clamp<int64_t>(begin + last, 0, extent)};
}

// Coordinates are data of the model: any value gives a pixel not too far from the image.
template <class T>
int64_t PixelAt(T coordinate, double scale) {
  const double value = std::round(static_cast<double>(coordinate) * scale);
  return value == value ? static_cast<int64_t>(std::clamp(value, -1e9, 1e9)) : 0;
}

}  // namespace

template <class T>
void MaxPoolRegions(const RegionShape& shape, int64_t batch, double scale, const T* images, const T* regions, T* target,
                    ThreadPool& pool) {
  const int64_t plane = shape.height * shape.width, bins = shape.out_height * shape.out_width;
  pool.ParallelFor(shape.regions * shape.channels, 1, [&](int64_t begin, int64_t end) {
    InParts(end - begin, 1, [&](int64_t done, int64_t) {
      const int64_t item = begin + done;
      const T* numbers = regions + item / shape.channels * 5;
      const int64_t image = std::clamp<int64_t>(PixelAt(numbers[0], 1), 0, batch - 1);
      const int64_t left = PixelAt(numbers[1], scale), top = PixelAt(numbers[2], scale);
      const int64_t width = std::max<int64_t>(PixelAt(numbers[3], scale) - left + 1, 1);
      const int64_t height = std::max<int64_t>(PixelAt(numbers[4], scale) - top + 1, 1);
      const T* from = images + (image * shape.channels + item % shape.channels) * plane;
      EndCheck check;
      for (int64_t bin = 0; bin < bins && !check.Ends(16); ++bin) {
        const PixelRange rows = PixelsOf(bin / shape.out_width, shape.out_height, top, height, shape.height);
        const PixelRange columns = PixelsOf(bin % shape.out_width, shape.out_width, left, width, shape.width);
        const bool empty = rows.last <= rows.first || columns.last <= columns.first;
        T largest = empty ? T(0) : std::numeric_limits<T>::lowest();
        for (int64_t y = rows.first; y < rows.last && !check.Ends(columns.last - columns.first); ++y)
          for (int64_t x = columns.first; x < columns.last; ++x)
            largest = LargerShare(largest, from[y * shape.width + x]);
        target[item * bins + bin] = largest;
      }
    });
  });
}

template void AlignRegions<float>(const RegionShape&, const RegionAlign&, const float*, const float*, const int64_t*,
                                  float*, ThreadPool&);
template void AlignRegions<double>(const RegionShape&, const RegionAlign&, const double*, const double*, const int64_t*,
                                   double*, ThreadPool&);
template void MaxPoolRegions<float>(const RegionShape&, int64_t, double, const float*, const float*, float*,
                                    ThreadPool&);
template void MaxPoolRegions<double>(const RegionShape&, int64_t, double, const double*, const double*, double*,
                                     ThreadPool&);

}  // namespace deputy::host
