// Normalizations. x and y are [batch, channels, size] without gaps, unless noted otherwise.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "kernels/reduce.hpp"

namespace deputy::host {

struct ChannelShape {
  int64_t batch = 0, channels = 0, size = 0;
};

// y = x * factors[channel] + offsets[channel].
template <class T>
void ScaleChannels(const ChannelShape& shape, const T* x, const T* factors, const T* offsets, T* y, ThreadPool& pool);

// Each plane to mean 0 and variance 1, then scaled and shifted by channel.
template <class T>
void InstanceNormalize(const ChannelShape& shape, const T* x, const T* scale, const T* bias, double epsilon, T* y,
                       ThreadPool& pool);

// x and y are [rows, size]: each row to mean 0 and variance 1, then scaled and, if bias is not null, shifted by
// element. The statistics are written if their pointers are not null.
template <class T>
struct LayerNormalization {
  int64_t rows = 0, size = 0;
  double epsilon = 0;
  const T* x = nullptr;
  const T* scale = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  float* means = nullptr;
  float* inverse_deviations = nullptr;
};
template <class T>
void LayerNormalize(const LayerNormalization<T>& args, ThreadPool& pool);

// y = x / (bias + alpha / window * sum of squares over `window` neighbouring channels) ^ beta.
struct ResponseNormalization {
  int64_t window = 1;
  double alpha = 0, beta = 0, bias = 0;
};
template <class T>
void NormalizeResponse(const ChannelShape& shape, const ResponseNormalization& how, const T* x, T* y, ThreadPool& pool);

// x and y are [rows, size]: each row divided by the root of its mean square, then scaled by element.
template <class T>
void RootMeanSquareNormalize(int64_t rows, int64_t size, double epsilon, const T* x, const T* scale, T* y,
                             ThreadPool& pool);

// A norm of elements that may be too large or too small for a double: value * 2^exponent.
struct LineNorm {
  double value = 0;
  int exponent = 0;

  // x divided by the norm, which is not 0.
  double Divide(double x) const;
};

// The sum of the magnitudes (p = 1) or the root of the sum of squares (p = 2) of `count` elements, `stride` elements
// apart. The exponent is not 0 only if a sum of doubles overflows, or underflows, without it.
template <class T>
LineNorm NormOf(int p, const T* x, int64_t count, int64_t stride);

// Each line along the axis divided by its norm. A line of zeros is unchanged.
template <class T>
void NormNormalize(const AxisView& view, int p, const T* x, T* y, ThreadPool& pool);

}  // namespace deputy::host
