// Positions of extreme elements along one axis, and the k largest or smallest elements in order.
#include <algorithm>
#include <numeric>
#include <type_traits>

#include "base/cancellation.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/parts.hpp"
#include "kernels/reduce.hpp"
#include "kernels/sort.hpp"

namespace deputy::host {
namespace {

// True when x replaces the largest element so far. A NaN is replaced only by a later NaN, and only with kLast.
template <bool kLast, class T>
bool Better(T x, T best) {
  if (best != best) return kLast && x != x;
  if (x != x) return true;
  if constexpr (kLast)
    return x >= best;
  else
    return x > best;
}

// Reverses an order: the smallest element is the one whose reverse is the largest. Without branches.
template <class T>
class Reverser {
 public:
  explicit Reverser(bool reverses) {
    if constexpr (std::is_floating_point_v<T>)
      factor_ = reverses ? T{-1} : T{1};
    else
      factor_ = reverses ? static_cast<T>(~T{0}) : T{0};
  }
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return x * factor_;
    else
      return static_cast<T>(x ^ factor_);
  }

 private:
  T factor_;
};

// Adjacent columns that are searched side by side.
constexpr int64_t kArgBlock = 128;

template <bool kLast, class T>
void ArgLoop(bool largest, const AxisView& view, const T* source, int64_t* target, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = kArgBlock;
  const Reverser<T> ordered(!largest);
  EndCheck check;
  while (begin < end) {
    const int64_t column = begin % view.inner;
    const int64_t width = std::min({kBlock, end - begin, view.inner - column});
    const T* from = source + begin / view.inner * view.extent * view.inner + column;
    T best[kBlock];
    for (int64_t i = 0; i < width; ++i) best[i] = ordered(from[i]);
    std::fill_n(target + begin, width, 0);
    InPartsOf(view.extent - 1, width, [&](int64_t first, int64_t last) {
      for (int64_t k = first + 1; k <= last; ++k) {
        const T* row = from + k * view.inner;
        for (int64_t i = 0; i < width; ++i) {
          const T x = ordered(row[i]);
          if (Better<kLast>(x, best[i])) {
            best[i] = x;
            target[begin + i] = k;
          }
        }
      }
    });
    begin += width;
    if (check.Ends(StepsOf(view.extent, width))) return;
  }
}

constexpr int64_t kArgReduceGrain = 4 << 10;

// The type that is compared: float for 16-bit floats.
template <class T>
auto Comparable(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return ToFloat(value);
  } else {
    return value;
  }
}

template <class T>
bool Greater(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool a_is_nan = a != a, b_is_nan = b != b;
    if (a_is_nan || b_is_nan) return a_is_nan && !b_is_nan;
  }
  return a > b;
}

bool RunHasEnded() {
  const CancellationScope* const scope = CancellationScope::Current();
  return scope != nullptr && scope->stopped();
}

// Lists the places of the lane's elements in order, in the first k elements of `order`; false after the end of the run.
template <class T>
bool OrderLane(const TopKExtents& extents, bool largest, const T* data, int64_t* order) {
  const auto at = [&](int64_t place) { return Comparable(data[place * extents.inner]); };
  if constexpr (Packable<decltype(at(0))>) {
    if (extents.extent <= kMostPacked) {
      InPartsOf(extents.extent, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) order[i] = Packed(at(i), i, largest);
      });
      if (RunHasEnded()) return false;
      SortFirstUntilEnd(order, extents.k, extents.extent);
      InPartsOf(extents.k, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) order[i] = PlaceOf(order[i]);
      });
      return true;
    }
  }
  InPartsOf(extents.extent, 1, [&](int64_t begin, int64_t end) { std::iota(order + begin, order + end, begin); });
  if (RunHasEnded()) return false;
  SortFirstUntilEnd(order, extents.k, extents.extent, [&](int64_t i, int64_t j) {
    const auto a = at(i), b = at(j);
    if (largest ? Greater(a, b) : Greater(b, a)) return true;
    if (largest ? Greater(b, a) : Greater(a, b)) return false;
    return i < j;
  });
  return true;
}

template <class T>
void Lane(const TopKExtents& extents, bool largest, const T* data, T* values, int64_t* positions, int64_t* order) {
  if (!OrderLane(extents, largest, data, order)) return;
  InPartsOf(extents.k, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      values[i * extents.inner] = data[order[i] * extents.inner];
      positions[i * extents.inner] = order[i];
    }
  });
}

}  // namespace

AxisView ViewAlong(std::span<const int64_t> dims, size_t axis) {
  return AxisView{ElementCount(dims.first(axis)), dims[axis], ElementCount(dims.subspan(axis + 1))};
}

Status ArgReduce(bool largest, bool last_of_equals, DType dtype, const AxisView& view, const void* source,
                 int64_t* target, ThreadPool& pool) {
  const int64_t count = view.outer * view.inner;
  if (count != 0 && view.extent == 0)
    return Error(StatusCode::kInvalidArgument, "cannot find the {} element of an empty axis",
                 largest ? "largest" : "smallest");
  const int64_t grain = std::max<int64_t>(std::min(view.inner, kArgBlock), 16384 / std::max<int64_t>(view.extent, 1));
  const bool known = DispatchNumeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* from = static_cast<const T*>(source);
    const auto loop = last_of_equals ? ArgLoop<true, T> : ArgLoop<false, T>;
    pool.ParallelFor(count, grain, [&](int64_t begin, int64_t end) { loop(largest, view, from, target, begin, end); });
  });
  return known ? Status() : Error(StatusCode::kNotSupported, "dtype {} is not supported", NameOf(dtype));
}

bool TopK(const TopKExtents& extents, bool largest, DType dtype, const void* data, void* values, int64_t* positions,
          int64_t* order, ThreadPool& pool) {
  return DispatchStored(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    pool.ParallelFor(extents.outer * extents.inner, kArgReduceGrain / std::max<int64_t>(extents.extent, 1) + 1,
                     [&](int64_t begin, int64_t end) {
                       for (int64_t lane = begin; lane < end; ++lane) {
                         const int64_t o = lane / extents.inner, i = lane % extents.inner;
                         const int64_t from = o * extents.extent * extents.inner + i;
                         const int64_t to = o * extents.k * extents.inner + i;
                         Lane(extents, largest, static_cast<const T*>(data) + from, static_cast<T*>(values) + to,
                              positions + to, order + lane * extents.extent);
                       }
                     });
  });
}

}  // namespace deputy::host
