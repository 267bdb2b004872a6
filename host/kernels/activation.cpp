#include "kernels/activation.hpp"

#include <cmath>
#include <type_traits>

#include "kernels/linalg/rows.hpp"
#include "kernels/unary_float.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kGrain = 4096;
constexpr double kRootHalf = 0.70710678118654752440;
constexpr double kRootTwoOverPi = 0.79788456080286535588;

}  // namespace

template <class T>
void Gelu(const T* x, T* y, int64_t count, bool tanh, ThreadPool& pool) {
  pool.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
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
  pool.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      return linalg::Apply(linalg::RowFunction::kShrink, x + begin, end - begin, threshold, bias, y + begin);
    for (int64_t i = begin; i < end; ++i)
      y[i] = x[i] < -threshold ? x[i] + bias : x[i] > threshold ? x[i] - bias : T(0);
  });
}

template <class T>
void ShrinkWhole(const T* x, T* y, int64_t count, double threshold, double bias, ThreadPool& pool) {
  pool.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double value = static_cast<double>(x[i]);
      const double shrunk = value < -threshold ? value + bias : value > threshold ? value - bias : 0;
      // Above int64 there is only the upper half of uint64.
      y[i] = shrunk >= 0x1p63 ? static_cast<T>(static_cast<uint64_t>(shrunk))
                              : static_cast<T>(static_cast<int64_t>(shrunk));
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

}  // namespace deputy::host
