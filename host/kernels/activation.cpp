#include "kernels/activation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/unary_float.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kActivationGrain = 4096;
constexpr double kRootHalf = 0.70710678118654752440;
constexpr double kRootTwoOverPi = 0.79788456080286535588;

constexpr int64_t kClipGrain = 32768;

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

template <class T>
void Gelu(const T* x, T* y, int64_t count, bool tanh, ThreadPool& pool) {
  pool.ParallelFor(count, kActivationGrain, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>) {
      linalg::Apply(tanh ? linalg::RowFunction::kGeluTanh : linalg::RowFunction::kGelu, x + begin, end - begin, 0, 0,
                    y + begin);
    } else if (tanh) {
      constexpr T kScale = static_cast<T>(kRootTwoOverPi), kCubic = static_cast<T>(0.044715);
      for (int64_t i = begin; i < end; ++i)
        y[i] = T(0.5) * x[i] * (T(1) + TanhOf(kScale * (x[i] + kCubic * x[i] * x[i] * x[i])));
    } else {
      constexpr T kScale = static_cast<T>(kRootHalf);
      for (int64_t i = begin; i < end; ++i) y[i] = T(0.5) * x[i] * (T(1) + ErfOf(x[i] * kScale));
    }
  });
}

template <class T>
void Shrink(const T* x, T* y, int64_t count, T threshold, T bias, ThreadPool& pool) {
  pool.ParallelFor(count, kActivationGrain, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      return linalg::Apply(linalg::RowFunction::kShrink, x + begin, end - begin, threshold, bias, y + begin);
    for (int64_t i = begin; i < end; ++i)
      y[i] = x[i] < -threshold ? x[i] + bias : x[i] > threshold ? x[i] - bias : T(0);
  });
}

// The number as an integer, modulo 2^bits; NaN as 0, numbers outside [-2^63, 2^64) as the end next to them.
template <class T>
T WholeOf(double value) {
  if (std::isnan(value)) return 0;
  if (value < 0x1p63) return static_cast<T>(static_cast<int64_t>(std::max(value, -0x1p63)));
  return static_cast<T>(value < 0x1p64 ? static_cast<uint64_t>(value) : UINT64_MAX);
}

template <class T>
void ShrinkWhole(const T* x, T* y, int64_t count, double threshold, double bias, ThreadPool& pool) {
  pool.ParallelFor(count, kActivationGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double value = static_cast<double>(x[i]);
      y[i] = WholeOf<T>(value < -threshold ? value + bias : value > threshold ? value - bias : 0);
    }
  });
}

template void Gelu<float>(const float*, float*, int64_t, bool, ThreadPool&);
template void Gelu<double>(const double*, double*, int64_t, bool, ThreadPool&);
template void Shrink<float>(const float*, float*, int64_t, float, float, ThreadPool&);
template void Shrink<double>(const double*, double*, int64_t, double, double, ThreadPool&);
#define DEPUTY_SHRINK_WHOLE(type) template void ShrinkWhole(const type*, type*, int64_t, double, double, ThreadPool&);
DEPUTY_SHRINK_WHOLE(int8_t)
DEPUTY_SHRINK_WHOLE(int16_t)
DEPUTY_SHRINK_WHOLE(int32_t)
DEPUTY_SHRINK_WHOLE(int64_t)
DEPUTY_SHRINK_WHOLE(uint8_t)
DEPUTY_SHRINK_WHOLE(uint16_t)
DEPUTY_SHRINK_WHOLE(uint32_t)
DEPUTY_SHRINK_WHOLE(uint64_t)
#undef DEPUTY_SHRINK_WHOLE

bool Clip(DType dtype, const void* source, const void* low, const void* high, void* target, int64_t count,
          ThreadPool& pool) {
  if (IsFloat16(dtype)) {
    const ConvertFunction widen = FindConvert(dtype, DType::kFloat32);
    float bottom = Lowest<float>(), top = Highest<float>();
    if (low != nullptr) widen(low, &bottom, 1);
    if (high != nullptr) widen(high, &top, 1);
    pool.ParallelFor(count, kClipGrain, [&](int64_t begin, int64_t end) {
      ClipFloat16(dtype, static_cast<const uint16_t*>(source) + begin, bottom, top,
                  static_cast<uint16_t*>(target) + begin, end - begin);
    });
    return true;
  }
  return DispatchNumeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T bottom = low != nullptr ? *static_cast<const T*>(low) : Lowest<T>();
    const T top = high != nullptr ? *static_cast<const T*>(high) : Highest<T>();
    pool.ParallelFor(count, kClipGrain, [&](int64_t begin, int64_t end) {
      ClipLoop(static_cast<const T*>(source) + begin, bottom, top, static_cast<T*>(target) + begin, end - begin);
    });
  });
}

}  // namespace deputy::host
