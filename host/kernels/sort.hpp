// Sorts lists of numbers like std::sort and std::partial_sort, also so long ones that a run may end meanwhile.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/function_ref.hpp"

namespace deputy::host {

// A strict order without equal elements, so that the result is the same as that of any other algorithm.
using Less = FunctionRef<bool(int64_t, int64_t)>;

// A comparison takes `steps` steps; one that takes kStepsOfPart or more may return anything when the run has ended. The
// list is a permutation of its elements in any case.
void SortUntilEnd(int64_t* begin, int64_t* end, int64_t steps, Less less);
// Different numbers, the smallest first.
void SortUntilEnd(int64_t* begin, int64_t* end);

// The first `wanted` of `count` elements in order, the others in any.
void SortFirstUntilEnd(int64_t* list, int64_t wanted, int64_t count, Less less);
void SortFirstUntilEnd(int64_t* list, int64_t wanted, int64_t count);

// Elements of up to 32 bits with their places, as numbers that are sorted without a look at the elements: by the
// element, then by the place.
template <class T>
concept Packable = std::is_arithmetic_v<T> && sizeof(T) <= sizeof(int32_t);

// Numbers in the order of the elements: -0 equals 0, a NaN is larger than all numbers and equal to each NaN.
template <Packable T>
int32_t OrderOf(T element) {
  if constexpr (std::is_floating_point_v<T>) {
    if (element != element) return INT32_MAX;
    const auto bits = std::bit_cast<int32_t>(element + T{0});
    return bits ^ ((bits >> 31) & INT32_MAX);  // the larger the magnitude of a negative number, the smaller it is
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return static_cast<int32_t>(element ^ 0x80000000u);
  } else {
    return static_cast<int32_t>(element);
  }
}

inline constexpr int64_t kMostPacked = int64_t{1} << 32;  // places

template <Packable T>
int64_t Packed(T element, int64_t place, bool largest_first) {
  const int32_t order = largest_first ? ~OrderOf(element) : OrderOf(element);
  return static_cast<int64_t>(order) * kMostPacked + place;
}
inline int64_t PlaceOf(int64_t packed) { return packed & (kMostPacked - 1); }

}  // namespace deputy::host
