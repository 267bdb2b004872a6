#include "kernels/top_k.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "kernels/dispatch.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kGrainElements = 4 << 10;

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

template <class T>
void Lane(const TopKExtents& extents, bool largest, const T* data, T* values, int64_t* positions, int64_t* order) {
  std::iota(order, order + extents.extent, int64_t{0});
  std::partial_sort(order, order + extents.k, order + extents.extent, [&](int64_t i, int64_t j) {
    const auto a = Comparable(data[i * extents.inner]), b = Comparable(data[j * extents.inner]);
    if (largest ? Greater(a, b) : Greater(b, a)) return true;
    if (largest ? Greater(b, a) : Greater(a, b)) return false;
    return i < j;
  });
  for (int64_t i = 0; i < extents.k; ++i) {
    values[i * extents.inner] = data[order[i] * extents.inner];
    positions[i * extents.inner] = order[i];
  }
}

}  // namespace

bool TopK(const TopKExtents& extents, bool largest, DType dtype, const void* data, void* values, int64_t* positions,
          int64_t* order, ThreadPool& pool) {
  return DispatchStored(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    pool.ParallelFor(extents.outer * extents.inner, kGrainElements / std::max<int64_t>(extents.extent, 1) + 1,
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
