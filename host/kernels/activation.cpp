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

template void Gelu<float>(const float*, float*, int64_t, bool, ThreadPool&);
template void Gelu<double>(const double*, double*, int64_t, bool, ThreadPool&);
template void Shrink<float>(const float*, float*, int64_t, float, float, ThreadPool&);
template void Shrink<double>(const double*, double*, int64_t, double, double, ThreadPool&);

}  // namespace deputy::host
