#include "kernels/clip.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/linalg/rows.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kGrain = 32768;

template <class T>
void ClipLoop(const T* source, T low, T high, T* target, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    linalg::Apply(linalg::RowFunction::kClip, source, count, low, high, target);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      const T raised = source[i] < low ? low : source[i];
      target[i] = raised > high ? high : raised;
    }
  }
}

template <class T>
constexpr T Lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}
template <class T>
constexpr T Highest() {
  return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

void ClipFloat16(DType dtype, const uint16_t* source, float low, float high, uint16_t* target, int64_t count) {
  const ConvertFunction widen = FindConvert(dtype, DType::kFloat32), narrow = FindConvert(DType::kFloat32, dtype);
  constexpr int64_t kBlock = 512;
  float wide[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t block = std::min(count - at, kBlock);
    widen(source + at, wide, block);
    ClipLoop(wide, low, high, wide, block);
    narrow(wide, target + at, block);
  }
}

}  // namespace

bool Clip(DType dtype, const void* source, const void* low, const void* high, void* target, int64_t count,
          ThreadPool& pool) {
  if (IsFloat16(dtype)) {
    const ConvertFunction widen = FindConvert(dtype, DType::kFloat32);
    float bottom = Lowest<float>(), top = Highest<float>();
    if (low != nullptr) widen(low, &bottom, 1);
    if (high != nullptr) widen(high, &top, 1);
    pool.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      ClipFloat16(dtype, static_cast<const uint16_t*>(source) + begin, bottom, top,
                  static_cast<uint16_t*>(target) + begin, end - begin);
    });
    return true;
  }
  return DispatchNumeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T bottom = low != nullptr ? *static_cast<const T*>(low) : Lowest<T>();
    const T top = high != nullptr ? *static_cast<const T*>(high) : Highest<T>();
    pool.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      ClipLoop(static_cast<const T*>(source) + begin, bottom, top, static_cast<T*>(target) + begin, end - begin);
    });
  });
}

}  // namespace deputy::host
