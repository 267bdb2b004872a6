#include "kernels/row_normalization.hpp"

#include <algorithm>
#include <cmath>

namespace deputy::host {
namespace {

constexpr int64_t kGrainElements = 8192;

int64_t Grain(int64_t elements) { return kGrainElements / std::max<int64_t>(elements, 1) + 1; }

}  // namespace

template <class T>
void RootMeanSquareNormalize(int64_t rows, int64_t size, double epsilon, const T* x, const T* scale, T* y,
                             ThreadPool& pool) {
  pool.ParallelFor(rows, Grain(size), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* from = x + row * size;
      T* to = y + row * size;
      double sum = 0;
      for (int64_t i = 0; i < size; ++i) sum += static_cast<double>(from[i]) * static_cast<double>(from[i]);
      const T factor = static_cast<T>(1 / std::sqrt(sum / static_cast<double>(size) + epsilon));
      for (int64_t i = 0; i < size; ++i) to[i] = from[i] * factor * scale[i];
    }
  });
}

template <class T>
void NormNormalize(const AxisView& view, int p, const T* x, T* y, ThreadPool& pool) {
  pool.ParallelFor(view.outer * view.inner, Grain(view.extent), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = line / view.inner * view.extent * view.inner + line % view.inner;
      double sum = 0;
      for (int64_t i = 0; i < view.extent; ++i) {
        const double value = static_cast<double>(x[first + i * view.inner]);
        sum += p == 1 ? std::fabs(value) : value * value;
      }
      const double norm = p == 1 ? sum : std::sqrt(sum);
      for (int64_t i = 0; i < view.extent; ++i) {
        const int64_t at = first + i * view.inner;
        y[at] = norm == 0 ? x[at] : static_cast<T>(static_cast<double>(x[at]) / norm);
      }
    }
  });
}

template void RootMeanSquareNormalize<float>(int64_t, int64_t, double, const float*, const float*, float*, ThreadPool&);
template void RootMeanSquareNormalize<double>(int64_t, int64_t, double, const double*, const double*, double*,
                                              ThreadPool&);
template void NormNormalize<float>(const AxisView&, int, const float*, float*, ThreadPool&);
template void NormNormalize<double>(const AxisView&, int, const double*, double*, ThreadPool&);

}  // namespace deputy::host
