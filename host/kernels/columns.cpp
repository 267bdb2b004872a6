#include "kernels/columns.hpp"

#include <algorithm>
#include <array>

#include "kernels/linalg/linalg.hpp"
#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

template <class T>
void AddTo(T* target, int64_t stride, const T* from, int64_t count) {
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i) target[i] += from[i];
  else
    for (int64_t i = 0; i < count; ++i) target[i * stride] += from[i];
}

// `steps` is what one position takes. Calls fn(matrix row within a channel, tap of the last axis, first element of the
// wide row or -1 when all of it is padding, column of position x0, x0, x1) for every stretch of positions in one row
// and one panel, and every tap, until the run ends.
template <class F>
void ForEachStretch(const ColumnGeometry& geometry, int64_t begin, int64_t end, int64_t panel, int64_t steps, F fn) {
  const size_t last = geometry.axes.size() - 1;
  const int64_t width = geometry.narrow[last], last_kernel = geometry.axes[last].kernel;
  const int64_t outer_taps = geometry.taps() / last_kernel;
  EndCheck check;
  for (int64_t position = begin; position < end;) {
    SpatialDims at = {};
    int64_t rest = position / width;
    for (size_t i = last; i-- > 0; rest /= geometry.narrow[i]) at[i] = rest % geometry.narrow[i];
    const int64_t x0 = position % width, left = std::min(end - position, panel - (position - begin) % panel);
    const int64_t x1 = std::min(width, x0 + left);
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
      if (check.Ends((x1 - x0 + 4) * last_kernel * steps)) return;
      for (int64_t kx = 0; kx < last_kernel; ++kx) fn(outer * last_kernel + kx, kx, start, position - begin, x0, x1);
      for (size_t i = last; i-- > 0;) {
        if (++tap[i] < geometry.axes[i].kernel) break;
        tap[i] = 0;
      }
    }
    position += x1 - x0;
  }
}

// OutputsInside of every tap of an axis, computed once; for kernels longer than the table at each call.
class TapRanges {
 public:
  TapRanges(const WindowAxis& axis, int64_t extent, int64_t count) : axis_(axis), extent_(extent), count_(count) {
    for (int64_t tap = 0; tap < std::min(axis.kernel, kMost); ++tap)
      ranges_[static_cast<size_t>(tap)] = OutputsInside(axis, tap, extent, count);
  }
  TapRange Of(int64_t tap) const {
    return tap < kMost ? ranges_[static_cast<size_t>(tap)] : OutputsInside(axis_, tap, extent_, count_);
  }

 private:
  static constexpr int64_t kMost = 16;
  const WindowAxis& axis_;
  int64_t extent_, count_;
  std::array<TapRange, kMost> ranges_;
};

}  // namespace

int64_t ColumnGeometry::taps() const {
  int64_t product = 1;
  for (const WindowAxis& axis : axes) product *= axis.kernel;
  return product;
}

int64_t ColumnGeometry::wide_size() const { return Product(wide, axes.size()); }
int64_t ColumnGeometry::narrow_size() const { return Product(narrow, axes.size()); }

template <class T>
void GatherPanels(const ColumnGeometry& geometry, const T* wide, int64_t channels, int64_t begin, int64_t end,
                  T* panels) {
  const WindowAxis& axis = geometry.axes.back();
  const size_t last = geometry.axes.size() - 1;
  const int64_t taps = geometry.taps(), width = linalg::PanelWidth<T>(), panel_size = channels * taps * width;
  if ((end - begin) % width != 0) {
    T* padded = panels + (end - begin) / width * panel_size;
    std::fill(padded, padded + panel_size, T(0));
  }
  const TapRanges ranges(axis, geometry.wide[last], geometry.narrow[last]);
  linalg::GatherArgs<T> rows;
  rows.rows = channels;
  rows.stride = axis.stride;
  rows.from_step = geometry.wide_size();
  rows.to_step = taps * width;
  ForEachStretch(geometry, begin, end, width, channels,
                 [&](int64_t row, int64_t kx, int64_t start, int64_t column, int64_t x0, int64_t x1) {
                   TapRange inside;
                   if (start >= 0) inside = ranges.Of(kx);
                   rows.count = x1 - x0;
                   rows.first = std::clamp(inside.first, x0, x1) - x0;
                   rows.stop = std::clamp(inside.last, x0 + rows.first, x1) - x0;
                   rows.from = wide + (start + x0 * axis.stride - axis.pad_begin + kx * axis.dilation);
                   rows.to = panels + (column / width * panel_size + row * width + column % width);
                   linalg::GatherRows(rows);
                 });
}

template <class T>
void ScatterColumns(const ColumnGeometry& geometry, const T* columns, int64_t channels, int64_t begin, int64_t end,
                    T* wide) {
  const WindowAxis& axis = geometry.axes.back();
  const size_t last = geometry.axes.size() - 1;
  const int64_t taps = geometry.taps(), wide_size = geometry.wide_size(), count = end - begin;
  ForEachStretch(geometry, begin, end, geometry.narrow_size(), channels,
                 [&](int64_t row, int64_t kx, int64_t start, int64_t column, int64_t x0, int64_t x1) {
                   if (start < 0) return;
                   const TapRange inside = OutputsInside(axis, kx, geometry.wide[last], geometry.narrow[last]);
                   const int64_t first = std::max(inside.first, x0), stop = std::min(inside.last, x1);
                   const int64_t to = start + first * axis.stride - axis.pad_begin + kx * axis.dilation;
                   for (int64_t c = 0; c < channels && stop > first; ++c) {
                     const T* from = columns + (c * taps + row) * count + column + (first - x0);
                     T* target = wide + c * wide_size + to;
                     AddTo(target, axis.stride, from, stop - first);
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

template void GatherPanels(const ColumnGeometry&, const float*, int64_t, int64_t, int64_t, float*);
template void GatherPanels(const ColumnGeometry&, const double*, int64_t, int64_t, int64_t, double*);
template void GatherPanels(const ColumnGeometry&, const linalg::Int8Quad*, int64_t, int64_t, int64_t,
                           linalg::Int8Quad*);
template void GatherPanels(const ColumnGeometry&, const linalg::Int16Pair*, int64_t, int64_t, int64_t,
                           linalg::Int16Pair*);
template void ScatterColumns(const ColumnGeometry&, const float*, int64_t, int64_t, int64_t, float*);
template void ScatterColumns(const ColumnGeometry&, const double*, int64_t, int64_t, int64_t, double*);

}  // namespace deputy::host
