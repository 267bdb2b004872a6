#include "kernels/pooling.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/cancellation.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/parts.hpp"
#include "kernels/plane.hpp"

namespace deputy::host {
namespace {

template <class T>
constexpr T EmptyMaximum() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

// NaN is larger than every number, as in Max and ReduceMax.
template <class T>
constexpr bool IsNaN(T value) {
  if constexpr (std::is_floating_point_v<T>) return value != value;
  return false;
}
template <class T>
constexpr T LargerOf(T best, T value) {
  return value > best || IsNaN(value) ? value : best;
}

bool HasNaN(const float* x, int64_t count) {
  bool found = false;
  InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
    found = found || !linalg::IsWithin(x + begin, end - begin, std::numeric_limits<float>::infinity());
  });
  return found;
}

// Elements combined between two checks whether the run ends.
constexpr double kMostWork = 1 << 24;

// InParts for items of so much work each, with `least` items or more in a part.
template <class F>
void InShortParts(int64_t count, double work, F&& fn, int64_t least = 1) {
  if (static_cast<double>(count) * work <= kMostWork) return fn(int64_t{0}, count);  // without the division
  InParts(count, std::max(least, static_cast<int64_t>(kMostWork / work)), fn);
}

// Calls fn(i) for begin <= i < end, each of so much work, until the run ends.
template <class F>
void ForEachItem(int64_t begin, int64_t end, double work, F&& fn) {
  InShortParts(end - begin, work, [&](int64_t first, int64_t last) {
    for (int64_t i = begin + first; i < begin + last; ++i) fn(i);
  });
}

// Elements of the largest window. A product with a number of outputs may be more than an integer holds.
double MostTaps(const PoolShape& shape) {
  double taps = 1;
  for (size_t i = 0; i < shape.window.rank; ++i)
    taps *= static_cast<double>(std::min(shape.window.axes[i].kernel, shape.in[i]));
  return taps;
}

// One row of outputs along the last axis, and the rows of the input inside its windows.
class RowWindow {
 public:
  RowWindow(const PoolShape& shape, int64_t row) : shape_(shape), last_(shape.window.rank - 1) {
    for (size_t i = last_; i-- > 0; row /= shape.out[i]) {
      at_[i] = row % shape.out[i];
      taps_[i] = TapsInside(shape.window.axes[i], at_[i], shape.in[i]);
      rows_ *= taps_[i].last - taps_[i].first;
    }
  }

  // Taps along the outer axes that read the input.
  int64_t rows() const { return rows_; }
  // Elements of the largest window of the row, and those of one row of the input.
  double most_taps() const { return static_cast<double>(rows_) * static_cast<double>(row_taps()); }
  int64_t row_taps() const { return std::min(shape_.window.axes[last_].kernel, shape_.in[last_]); }
  // Taps along the outer axes that read the input or its padding.
  double rows_with_padding() const {
    double product = 1;
    for (size_t i = 0; i < last_; ++i) {
      const WindowAxis& axis = shape_.window.axes[i];
      WindowAxis padded = axis;  // with the padding as part of the input
      padded.pad_begin = 0;
      const TapRange taps = TapsInside(padded, at_[i], shape_.in[i] + axis.pad_begin + axis.pad_end);
      product *= static_cast<double>(taps.last - taps.first);
    }
    return product;
  }

  // Calls fn(index of the row's first element within the plane) until the run ends; each takes so many steps.
  template <class F>
  void ForEachRow(int64_t steps, F fn) const {
    EndCheck check;
    SpatialDims tap = {};
    for (size_t i = 0; i < last_; ++i) tap[i] = taps_[i].first;
    for (int64_t n = 0; n < rows_; ++n) {
      int64_t row = 0;
      for (size_t i = 0; i < last_; ++i) {
        const WindowAxis& axis = shape_.window.axes[i];
        row = row * shape_.in[i] + at_[i] * axis.stride - axis.pad_begin + tap[i] * axis.dilation;
      }
      fn(row * shape_.in[last_]);
      if (check.Ends(steps)) return;
      for (size_t i = last_; i-- > 0;) {
        if (++tap[i] < taps_[i].last) break;
        tap[i] = taps_[i].first;
      }
    }
  }

 private:
  const PoolShape& shape_;
  size_t last_;
  SpatialDims at_ = {};
  std::array<TapRange, kMaxWindowAxes> taps_ = {};
  int64_t rows_ = 1;
};

// Whether a window may have no tap inside the input along the axis: the first or the last one is in the padding, or the
// dilation is larger than the input.
bool MayHaveEmptyWindows(const WindowAxis& axis, int64_t extent, int64_t count) {
  const auto is_empty = [&](int64_t position) {
    const TapRange taps = TapsInside(axis, position, extent);
    return taps.first == taps.last;
  };
  return axis.dilation > extent || is_empty(0) || is_empty(count - 1);
}

bool MayHaveEmptyWindows(const PoolShape& shape) {
  for (size_t i = 0; i < shape.window.rank; ++i)
    if (MayHaveEmptyWindows(shape.window.axes[i], shape.in[i], shape.out[i])) return true;
  return false;
}

// The maximum over an empty window is the lowest finite number, as in ONNX Runtime.
template <class T>
void FillEmptyWindows(const PoolShape& shape, const RowWindow& window, T* y) {
  const size_t last = shape.window.rank - 1;
  for (int64_t x = 0; x < shape.out[last]; ++x) {
    const TapRange taps = TapsInside(shape.window.axes[last], x, shape.in[last]);
    if (window.rows() == 0 || taps.first == taps.last) y[x] = std::numeric_limits<T>::lowest();
  }
}

// Calls fn(plane, row of outputs) over the pool.
template <class F>
void ForEachOutputRow(const PoolShape& shape, ThreadPool& pool, F fn) {
  const int64_t rows = Product(shape.out, shape.window.rank - 1), width = shape.out[shape.window.rank - 1];
  constexpr int64_t kLeastOutputs = 2048;
  const int64_t grain = std::max<int64_t>(1, kLeastOutputs / std::max<int64_t>(1, width));
  const double work = MostTaps(shape) * static_cast<double>(width);
  pool.ParallelFor(shape.planes * rows, grain, [&](int64_t begin, int64_t end) {
    ForEachItem(begin, end, work, [&](int64_t i) { fn(i / rows, i % rows); });
  });
}

// Calls combine(output, element) for every element in the windows of outputs [begin, end) of one row, output by output.
template <class T, class F>
void CombineOutputs(const PoolShape& shape, const RowWindow& window, const T* plane, int64_t begin, int64_t end, T* y,
                    F combine) {
  const size_t last = shape.window.rank - 1;
  const WindowAxis& axis = shape.window.axes[last];
  window.ForEachRow(StepsOf(end - begin, window.row_taps()), [&](int64_t row) {
    for (int64_t i = begin; i < end; ++i) {
      const TapRange taps = TapsInside(axis, i, shape.in[last]);
      const int64_t start = row + i * axis.stride - axis.pad_begin;
      T result = y[i];
      for (int64_t tap = taps.first; tap < taps.last; ++tap)
        result = combine(result, plane[start + tap * axis.dilation]);
      y[i] = result;
    }
  });
}

// The same tap by tap, so that the inner loop is over neighbours.
template <class T, class F>
void CombineTaps(const PoolShape& shape, const RowWindow& window, const T* plane, int64_t begin, int64_t end, T* y,
                 F combine) {
  const size_t last = shape.window.rank - 1;
  const WindowAxis& axis = shape.window.axes[last];
  const int64_t extent = shape.in[last];
  // Taps that are outside of the input for all outputs are skipped at both ends.
  const int64_t first_tap = std::max<int64_t>(0, (axis.pad_begin - (end - 1) * axis.stride) / axis.dilation);
  const int64_t last_tap =
      std::min(axis.kernel, (extent - 1 + axis.pad_begin - begin * axis.stride) / axis.dilation + 1);
  window.ForEachRow(StepsOf(end - begin, window.row_taps()), [&](int64_t row) {
    for (int64_t tap = first_tap; tap < last_tap; ++tap) {
      const TapRange range = OutputsInside(axis, tap, extent, end);
      const int64_t start = row + tap * axis.dilation - axis.pad_begin;  // of output 0; may be before the row
      const int64_t first = std::max(range.first, begin);
      if (axis.stride == 1) {
        for (int64_t i = first; i < range.last; ++i) y[i] = combine(y[i], plane[start + i]);
      } else {
        for (int64_t i = first; i < range.last; ++i) y[i] = combine(y[i], plane[start + i * axis.stride]);
      }
    }
  });
}

template <class T, class F>
void CombineRow(const PoolShape& shape, const RowWindow& window, const T* plane, T* y, F combine) {
  const size_t last = shape.window.rank - 1;
  // If true, no two outputs have an element at the same tap.
  const bool are_apart = shape.window.axes[last].stride >= shape.in[last] || shape.out[last] == 1;
  InShortParts(shape.out[last], window.most_taps(), [&](int64_t begin, int64_t end) {
    if (are_apart)
      CombineOutputs(shape, window, plane, begin, end, y, combine);
    else
      CombineTaps(shape, window, plane, begin, end, y, combine);
  });
}

// Index of an element within its plane when the first spatial axis is the fastest.
int64_t ColumnMajorIndex(const PoolShape& shape, int64_t index) {
  SpatialDims at = {};
  for (size_t i = shape.window.rank; i-- > 0; index /= shape.in[i]) at[i] = index % shape.in[i];
  int64_t result = 0;
  for (size_t i = shape.window.rank; i-- > 0;) result = result * shape.in[i] + at[i];
  return result;
}

template <class T>
void MaxRowWithIndices(const PoolShape& shape, const RowWindow& window, const T* plane, int64_t plane_start,
                       bool column_major, T* y, int64_t* indices) {
  const size_t last = shape.window.rank - 1;
  const WindowAxis& axis = shape.window.axes[last];
  ForEachItem(0, shape.out[last], window.most_taps(), [&](int64_t x) {
    const TapRange taps = TapsInside(axis, x, shape.in[last]);
    T best = std::numeric_limits<T>::lowest();  // kept if the window is empty
    int64_t best_index = -1;
    window.ForEachRow(taps.last - taps.first, [&](int64_t row) {
      for (int64_t tap = taps.first; tap < taps.last; ++tap) {
        const int64_t index = row + x * axis.stride - axis.pad_begin + tap * axis.dilation;
        if (best_index >= 0 && (IsNaN(best) || !(plane[index] > best || IsNaN(plane[index])))) continue;
        best = plane[index];
        best_index = index;
      }
    });
    y[x] = best;
    if (best_index >= 0 && column_major) best_index = ColumnMajorIndex(shape, best_index);
    indices[x] = best_index < 0 ? -1 : plane_start + best_index;
  });
}

// Maxima of bytes over planes, in bands of output rows whose input stays in the cache. The input of a band, with its
// padding, is one line of bytes: the maximum over the taps of a row, and then over those of a column, is computed for
// every position of the line, and the strides choose from these.
class ByteBands {
 public:
  explicit ByteBands(const PoolShape& shape) {
    DescribePlane(shape, plane_);
    for (size_t i = 0; i < 2; ++i) reach_[i] = (plane_.kernel[i] - 1) * plane_.dilations[i] + 1;
    // Extents that no sensible model has may overflow together.
    for (const int64_t extent : {plane_.in[1], plane_.pads[1], plane_.out[1], plane_.strides[1], reach_[0], reach_[1]})
      if (extent >= kMost) return;
    width_ = std::max(plane_.pads[1] + plane_.in[1], (plane_.out[1] - 1) * plane_.strides[1] + reach_[1]);
    const int64_t most_rows = kMost / width_;
    if (most_rows >= reach_[0])
      rows_ = std::min(plane_.out[0], (most_rows - reach_[0]) / std::min(plane_.strides[0], kMost) + 1);
  }

  bool fits() const { return rows_ > 0; }
  int64_t count() const { return (plane_.out[0] + rows_ - 1) / rows_; }
  double work_of_one() const {
    return static_cast<double>(kMost) * static_cast<double>(plane_.kernel[0] + plane_.kernel[1]);
  }

  // Output rows of band `band`.
  template <class T>
  void Run(int64_t band, const T* x, T* y) const {
    constexpr bool kSigned = std::is_signed_v<T>;
    uint8_t line[kMost], largest[kMost];
    const int64_t first = band * rows_, rows = std::min(rows_, plane_.out[0] - first);
    const int64_t height = (rows - 1) * plane_.strides[0] + reach_[0], top = first * plane_.strides[0] - plane_.pads[0];
    std::fill_n(line, height * width_, static_cast<uint8_t>(std::numeric_limits<T>::lowest()));
    for (int64_t row = std::max<int64_t>(0, -top); row < std::min(height, plane_.in[0] - top); ++row)
      std::copy_n(reinterpret_cast<const uint8_t*>(x) + (top + row) * plane_.in[1], plane_.in[1],
                  line + row * width_ + plane_.pads[1]);
    const auto join = [](const uint8_t* from, int64_t taps, int64_t step, int64_t positions, uint8_t* to) {
      std::copy_n(from, positions, to);
      for (int64_t tap = 1; tap < taps; ++tap) linalg::LargerBytes(to, from + tap * step, positions, kSigned, to);
    };
    const int64_t in_row = height * width_ - (reach_[1] - 1);
    join(line, plane_.kernel[1], plane_.dilations[1], in_row, largest);
    join(largest, plane_.kernel[0], plane_.dilations[0] * width_, in_row - (reach_[0] - 1) * width_, line);
    for (int64_t row = 0; row < rows; ++row) {
      const uint8_t* const from = line + row * plane_.strides[0] * width_;
      T* const to = y + (first + row) * plane_.out[1];
      for (int64_t i = 0; i < plane_.out[1]; ++i) to[i] = static_cast<T>(from[i * plane_.strides[1]]);
    }
  }

 private:
  static constexpr int64_t kMost = 16384;  // bytes of a line, on the stack
  linalg::PoolArgs plane_;
  int64_t reach_[2] = {}, width_ = 0, rows_ = 0;
};

linalg::PoolArgs PlaneOf(const PoolShape& shape, bool largest) {
  linalg::PoolArgs plane;
  plane.largest = largest;
  DescribePlane(shape, plane);
  return plane;
}

constexpr int64_t kPoolVector = 16;  // outputs that are computed together

// Whether planes are pooled by vectors, none of which takes long: it is not interrupted.
bool IsPooledByVectors(const PoolShape& shape) {
  return IsPlainPlane(shape.window) && MostTaps(shape) * static_cast<double>(kPoolVector) <= kMostWork;
}

// A plane in bands of rows, or parts of one row, none of which takes long.
void PoolPlane(const linalg::PoolArgs& all, double most_taps) {
  const double row_work = most_taps * static_cast<double>(all.out[1]);
  InShortParts(all.out[0], row_work, [&](int64_t begin, int64_t end) {
    linalg::PoolArgs band = all;
    band.out[0] = end - begin;
    band.y += begin * all.out[1];
    band.pads[0] -= begin * all.strides[0];
    if (row_work <= kMostWork) return linalg::Pool(band);
    const auto pool = [&](int64_t first, int64_t last) {
      linalg::PoolArgs part = band;
      part.out[1] = last - first;
      part.y += first;
      part.pads[1] -= first * all.strides[1];
      linalg::Pool(part);
    };
    InShortParts(all.out[1], most_taps, pool, kPoolVector);
  });
}

// One row of outputs.
template <class T>
void MaxRow(const PoolShape& shape, const RowWindow& window, const T* plane, T* y) {
  std::fill_n(y, shape.out[shape.window.rank - 1], EmptyMaximum<T>());
  CombineRow(shape, window, plane, y, LargerOf<T>);
}

// Calls fn(plane) over the pool.
template <class F>
void ForEachPlane(const PoolShape& shape, ThreadPool& pool, F fn) {
  constexpr double kLeastWork = 32768;
  const double work = std::max(1.0, MostTaps(shape) * static_cast<double>(Product(shape.out, shape.window.rank)));
  pool.ParallelFor(shape.planes, static_cast<int64_t>(kLeastWork / work) + 1,
                   [&](int64_t begin, int64_t end) { ForEachItem(begin, end, work, fn); });
}

// True if the outputs are complete: there are none, or all now have the value of a window without elements.
template <class T>
bool IsDoneWithoutElements(const PoolShape& shape, T value, T* y, int64_t* indices) {
  const int64_t outputs = shape.planes * Product(shape.out, shape.window.rank);
  if (outputs == 0) return true;
  if (Product(shape.in, shape.window.rank) != 0) return false;
  InParts(outputs, kLongRow, [&](int64_t begin, int64_t end) {
    std::fill(y + begin, y + end, value);
    if (indices != nullptr) std::fill(indices + begin, indices + end, int64_t{-1});
  });
  return true;
}

}  // namespace

template <class T>
void MaxPool(const PoolShape& shape, const T* x, T* y, int64_t* indices, bool column_major, ThreadPool& pool) {
  if (IsDoneWithoutElements(shape, std::numeric_limits<T>::lowest(), y, indices)) return;
  const size_t last = shape.window.rank - 1;
  const int64_t in_size = Product(shape.in, last + 1), out_size = Product(shape.out, last + 1);
  const bool may_have_empty_windows = MayHaveEmptyWindows(shape);
  if constexpr (std::is_same_v<T, float>) {
    if (indices == nullptr && IsPooledByVectors(shape)) {
      const linalg::PoolArgs all = PlaneOf(shape, true);
      const double most_taps = MostTaps(shape);
      ForEachPlane(shape, pool, [&](int64_t plane) {
        linalg::PoolArgs one = all;
        one.x = x + plane * in_size;
        one.y = y + plane * out_size;
        // The vectors of linalg skip NaN.
        if (HasNaN(one.x, in_size))
          ForEachItem(0, one.out[0], most_taps * static_cast<double>(one.out[1]),
                      [&](int64_t row) { MaxRow(shape, RowWindow(shape, row), one.x, one.y + row * one.out[1]); });
        else
          PoolPlane(one, most_taps);
        InParts(may_have_empty_windows ? one.out[0] : 0,
                std::max<int64_t>(1, kLongRow / std::max<int64_t>(1, one.out[1])), [&](int64_t first, int64_t stop) {
                  for (int64_t row = first; row < stop; ++row)
                    FillEmptyWindows(shape, RowWindow(shape, row), one.y + row * one.out[1]);
                });
      });
      return;
    }
  }
  if constexpr (sizeof(T) == 1) {
    if (indices == nullptr && shape.window.rank <= 2) {
      if (const ByteBands bands(shape); bands.fits()) {
        const int64_t count = bands.count();
        pool.ParallelFor(shape.planes * count, 32768 / (in_size + 1) + 1, [&](int64_t begin, int64_t end) {
          ForEachItem(begin, end, bands.work_of_one(),
                      [&](int64_t i) { bands.Run(i % count, x + i / count * in_size, y + i / count * out_size); });
        });
        return;
      }
    }
  }
  ForEachOutputRow(shape, pool, [&](int64_t plane, int64_t row) {
    const RowWindow window(shape, row);
    const int64_t start = plane * out_size + row * shape.out[last];
    if (indices != nullptr) {
      MaxRowWithIndices(shape, window, x + plane * in_size, plane * in_size, column_major, y + start, indices + start);
      return;
    }
    MaxRow(shape, window, x + plane * in_size, y + start);
    if (may_have_empty_windows) FillEmptyWindows(shape, window, y + start);
  });
}

// Numbers of elements in the windows of one row of outputs, first along the outer axes, then along the last one.
template <class T>
void DivideRow(const PoolShape& shape, int64_t row, PoolDivisor divisor, T* sums) {
  const size_t last = shape.window.rank - 1;
  if (divisor == PoolDivisor::kAll) {
    double taps = 1;
    for (const WindowAxis& one : shape.window.all()) taps *= static_cast<double>(one.kernel);
    for (int64_t i = 0; i < shape.out[last]; ++i) sums[i] /= static_cast<T>(taps);
    return;
  }
  const bool count_padding = divisor == PoolDivisor::kPadded;
  WindowAxis axis = shape.window.axes[last];
  const RowWindow window(shape, row);
  const double rows = count_padding ? window.rows_with_padding() : static_cast<double>(window.rows());
  int64_t extent = shape.in[last];
  if (count_padding) {
    extent += axis.pad_begin + axis.pad_end;
    axis.pad_begin = 0;
  }
  // Windows are complete from the first output whose first tap is inside to the last whose last tap is inside.
  const int64_t first = OutputsInside(axis, 0, extent, shape.out[last]).first;
  const int64_t stop = OutputsInside(axis, axis.kernel - 1, extent, shape.out[last]).last;
  const auto divide = [&](int64_t i) {
    const TapRange taps = TapsInside(axis, i, extent);
    const double count = rows * static_cast<double>(taps.last - taps.first);
    if (count > 0) sums[i] /= static_cast<T>(count);
  };
  int64_t i = 0;
  for (; i < std::min(first, shape.out[last]); ++i) divide(i);
  const T whole = static_cast<T>(rows * static_cast<double>(axis.kernel));
  if (whole > T(0))
    for (; i < stop; ++i) sums[i] /= whole;
  for (; i < shape.out[last]; ++i) divide(i);
}

template <class T>
void AveragePool(const PoolShape& shape, const T* x, T* y, PoolDivisor divisor, ThreadPool& pool) {
  if (IsDoneWithoutElements<T>(shape, 0, y, nullptr)) return;
  const size_t last = shape.window.rank - 1;
  const int64_t in_size = Product(shape.in, last + 1), out_size = Product(shape.out, last + 1);
  if constexpr (std::is_same_v<T, float>) {
    if (IsPooledByVectors(shape)) {
      const linalg::PoolArgs all = PlaneOf(shape, false);
      const double most_taps = MostTaps(shape);
      ForEachPlane(shape, pool, [&](int64_t plane) {
        linalg::PoolArgs one = all;
        one.x = x + plane * in_size;
        one.y = y + plane * out_size;
        PoolPlane(one, most_taps);
        InParts(one.out[0], std::max<int64_t>(1, kLongRow / std::max<int64_t>(1, one.out[1])),
                [&](int64_t first, int64_t stop) {
                  for (int64_t row = first; row < stop; ++row) DivideRow(shape, row, divisor, one.y + row * one.out[1]);
                });
      });
      return;
    }
  }
  ForEachOutputRow(shape, pool, [&](int64_t plane, int64_t row) {
    T* target = y + plane * out_size + row * shape.out[last];
    std::fill_n(target, shape.out[last], T(0));
    CombineRow(shape, RowWindow(shape, row), x + plane * in_size, target, [](T sum, T value) { return sum + value; });
    DivideRow(shape, row, divisor, target);
  });
}

template <class T>
void GlobalMaxPool(int64_t planes, int64_t size, const T* x, T* y, ThreadPool& pool) {
  pool.ParallelFor(planes, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, size)), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T best = EmptyMaximum<T>();
      InParts(size, kLongRow, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) best = LargerOf(best, x[p * size + i]);
      });
      y[p] = best;
    }
  });
}

template <class T>
void GlobalAveragePool(int64_t planes, int64_t size, const T* x, T* y, ThreadPool& pool) {
  pool.ParallelFor(planes, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, size)), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      double sum = 0;
      InParts(size, kLongRow, [&](int64_t first, int64_t last) {
        if constexpr (std::is_same_v<T, float>)
          sum += linalg::Sum(x + p * size + first, last - first);
        else
          for (int64_t i = first; i < last; ++i) sum += x[p * size + i];
      });
      y[p] = static_cast<T>(sum / static_cast<double>(size));
    }
  });
}

template <class T>
void GlobalAverageIntegers(int64_t planes, int64_t size, const T* x, int32_t zero_point, float* y, ThreadPool& pool) {
  constexpr int64_t kBlock = 1 << 16;  // sums of a block have 32 bits
  pool.ParallelFor(planes, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, size)), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t sum = 0;
      EndCheck check;
      for (int64_t first = 0; first < size && !check.Ends(kBlock); first += kBlock) {
        int32_t part = 0;
        for (int64_t i = first; i < std::min(size, first + kBlock); ++i) part += x[p * size + i];
        sum += part;
      }
      y[p] = static_cast<float>(static_cast<double>(sum) / static_cast<double>(size) - zero_point);
    }
  });
}

template void MaxPool(const PoolShape&, const float*, float*, int64_t*, bool, ThreadPool&);
template void MaxPool(const PoolShape&, const double*, double*, int64_t*, bool, ThreadPool&);
template void MaxPool(const PoolShape&, const int8_t*, int8_t*, int64_t*, bool, ThreadPool&);
template void MaxPool(const PoolShape&, const uint8_t*, uint8_t*, int64_t*, bool, ThreadPool&);
template void AveragePool(const PoolShape&, const float*, float*, PoolDivisor, ThreadPool&);
template void AveragePool(const PoolShape&, const double*, double*, PoolDivisor, ThreadPool&);
template void GlobalMaxPool(int64_t, int64_t, const float*, float*, ThreadPool&);
template void GlobalMaxPool(int64_t, int64_t, const double*, double*, ThreadPool&);
template void GlobalAveragePool(int64_t, int64_t, const float*, float*, ThreadPool&);
template void GlobalAveragePool(int64_t, int64_t, const double*, double*, ThreadPool&);
template void GlobalAverageIntegers(int64_t, int64_t, const int8_t*, int32_t, float*, ThreadPool&);
template void GlobalAverageIntegers(int64_t, int64_t, const uint8_t*, int32_t, float*, ThreadPool&);

}  // namespace deputy::host
