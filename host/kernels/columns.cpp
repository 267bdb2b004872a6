#include "kernels/columns.hpp"

#include <algorithm>
#include <cstring>

namespace deputy::host {
namespace {

int64_t Product(const SpatialDims& dims, size_t rank) {
  int64_t product = 1;
  for (size_t i = 0; i < rank; ++i) product *= dims[i];
  return product;
}

// Calls fn(matrix row within a channel, tap of the last axis, first element of the wide row or -1 when all of it is
// padding, column of position x0, x0, x1) for every stretch of positions in one row and every tap.
template <class F>
void ForEachStretch(const ColumnGeometry& geometry, int64_t begin, int64_t end, F fn) {
  const size_t last = geometry.axes.size() - 1;
  const int64_t width = geometry.narrow[last], last_kernel = geometry.axes[last].kernel;
  const int64_t outer_taps = geometry.taps() / last_kernel;
  for (int64_t position = begin; position < end;) {
    SpatialDims at = {};
    int64_t rest = position / width;
    for (size_t i = last; i-- > 0; rest /= geometry.narrow[i]) at[i] = rest % geometry.narrow[i];
    const int64_t x0 = position % width, x1 = std::min(width, x0 + end - position);
    SpatialDims tap = {};
    for (int64_t outer = 0; outer < outer_taps; ++outer) {
      int64_t wide_row = 0;
      bool inside = true;
      for (size_t i = 0; i < last; ++i) {
        const WindowAxis& axis = geometry.axes[i];
        const int64_t element = at[i] * axis.stride - axis.pad_begin + tap[i] * axis.dilation;
        inside = inside && element >= 0 && element < geometry.wide[i];
        wide_row = wide_row * geometry.wide[i] + element;
      }
      const int64_t start = inside ? wide_row * geometry.wide[last] : -1;
      for (int64_t kx = 0; kx < last_kernel; ++kx) fn(outer * last_kernel + kx, kx, start, position - begin, x0, x1);
      for (size_t i = last; i-- > 0;) {
        if (++tap[i] < geometry.axes[i].kernel) break;
        tap[i] = 0;
      }
    }
    position += x1 - x0;
  }
}

template <class T>
void CopyStrided(const T* from, int64_t stride, int64_t count, T* to) {
  if (count <= 0) return;
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else if (stride == 2) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

}  // namespace

int64_t ColumnGeometry::taps() const {
  int64_t product = 1;
  for (const WindowAxis& axis : axes) product *= axis.kernel;
  return product;
}

int64_t ColumnGeometry::wide_size() const { return Product(wide, axes.size()); }
int64_t ColumnGeometry::narrow_size() const { return Product(narrow, axes.size()); }

template <class T>
void GatherColumns(const ColumnGeometry& geometry, const T* wide, int64_t channels, int64_t begin, int64_t end,
                   T* columns) {
  const WindowAxis& axis = geometry.axes.back();
  const size_t last = geometry.axes.size() - 1;
  const int64_t taps = geometry.taps(), wide_size = geometry.wide_size(), count = end - begin;
  ForEachStretch(geometry, begin, end,
                 [&](int64_t row, int64_t kx, int64_t start, int64_t column, int64_t x0, int64_t x1) {
                   TapRange inside;
                   if (start >= 0) inside = OutputsInside(axis, kx, geometry.wide[last], geometry.narrow[last]);
                   const int64_t first = std::clamp(inside.first, x0, x1);
                   const int64_t stop = std::clamp(inside.last, first, x1);
                   const int64_t from = start + first * axis.stride - axis.pad_begin + kx * axis.dilation;
                   for (int64_t c = 0; c < channels; ++c) {
                     T* to = columns + (c * taps + row) * count + column;
                     std::fill(to, to + (first - x0), T(0));
                     if (stop > first)
                       CopyStrided(wide + c * wide_size + from, axis.stride, stop - first, to + (first - x0));
                     std::fill(to + (stop - x0), to + (x1 - x0), T(0));
                   }
                 });
}

template <class T>
void ScatterColumns(const ColumnGeometry& geometry, const T* columns, int64_t channels, int64_t begin, int64_t end,
                    T* wide) {
  const WindowAxis& axis = geometry.axes.back();
  const size_t last = geometry.axes.size() - 1;
  const int64_t taps = geometry.taps(), wide_size = geometry.wide_size(), count = end - begin;
  ForEachStretch(geometry, begin, end,
                 [&](int64_t row, int64_t kx, int64_t start, int64_t column, int64_t x0, int64_t x1) {
                   if (start < 0) return;
                   const TapRange inside = OutputsInside(axis, kx, geometry.wide[last], geometry.narrow[last]);
                   const int64_t first = std::max(inside.first, x0), stop = std::min(inside.last, x1);
                   const int64_t to = start + first * axis.stride - axis.pad_begin + kx * axis.dilation;
                   for (int64_t c = 0; c < channels && stop > first; ++c) {
                     const T* from = columns + (c * taps + row) * count + column + (first - x0);
                     T* target = wide + c * wide_size + to;
                     for (int64_t i = 0; i < stop - first; ++i) target[i * axis.stride] += from[i];
                   }
                 });
}

int64_t ColumnTile(const ColumnGeometry& geometry, int64_t rows, size_t element_bytes) {
  constexpr int64_t kCacheBytes = 512 * 1024, kFewest = 64, kMost = 2048;
  const int64_t row_bytes = std::max<int64_t>(1, rows) * static_cast<int64_t>(element_bytes);
  const int64_t fitting = std::clamp(kCacheBytes / row_bytes, kFewest, kMost);
  const int64_t width = geometry.narrow[geometry.axes.size() - 1];
  const int64_t tile = fitting > width ? fitting / width * width : fitting;
  return std::max<int64_t>(1, std::min(tile, geometry.narrow_size()));
}

template void GatherColumns(const ColumnGeometry&, const float*, int64_t, int64_t, int64_t, float*);
template void GatherColumns(const ColumnGeometry&, const double*, int64_t, int64_t, int64_t, double*);
template void ScatterColumns(const ColumnGeometry&, const float*, int64_t, int64_t, int64_t, float*);
template void ScatterColumns(const ColumnGeometry&, const double*, int64_t, int64_t, int64_t, double*);

}  // namespace deputy::host
