// Arithmetic that reports overflow. Extents and byte counts come from untrusted files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace deputy::host {

template <class T>
std::optional<T> CheckedMultiply(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

template <class T>
std::optional<T> CheckedAdd(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// Elements that a tensor may have: more than any memory holds, and so few that byte counts, sums of several counts and
// their products with small factors do not overflow.
inline constexpr int64_t kMostElements = int64_t{1} << 48;

// Product of the positive extents; empty if it is more than kMostElements.
inline std::optional<int64_t> CheckedPositiveProduct(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (const int64_t dim : dims)
    if (dim > 0 && (__builtin_mul_overflow(product, dim, &product) || product > kMostElements)) return std::nullopt;
  return product;
}

// Number of elements; false for a negative extent or more than kMostElements. Zero extents do not hide the others:
// {0, 2^30, 2^30} is refused, since a kernel may multiply the extents around the zero.
inline bool CountElements(std::span<const int64_t> dims, int64_t* count) {
  bool zero = false;
  int64_t product = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return false;
    zero = zero || dim == 0;
    if (dim > 0 && (__builtin_mul_overflow(product, dim, &product) || product > kMostElements)) return false;
  }
  *count = zero ? 0 : product;
  return true;
}

// The same, empty where that is false. Kernels call the other: GCC stalls where it reads an optional it just stored.
inline std::optional<int64_t> CheckedElementCount(std::span<const int64_t> dims) {
  int64_t count;
  if (!CountElements(dims, &count)) return std::nullopt;
  return count;
}

}  // namespace deputy::host
