// Deformable convolution of images: the taps of each output position have offsets, and samples are interpolated between
// pixels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.hpp"
#include "tensor/window.hpp"

namespace deputy::host {

// x is [batch, in_channels, in], weights [out_channels, in_channels / group, kernel], offsets [batch, offset_groups,
// kernel, 2, out] with the row's offset before the column's, mask [batch, offset_groups, kernel, out].
struct DeformableShape {
  int64_t batch = 0, in_channels = 0, out_channels = 0, group = 1, offset_groups = 1;
  Window window;  // of two axes, resolved
  SpatialDims in = {}, out = {};

  int64_t taps() const { return window.axes[0].kernel * window.axes[1].kernel; }
  int64_t positions() const { return out[0] * out[1]; }
};

template <class T>
struct DeformableArgs {
  DeformableShape shape;
  const T* x = nullptr;
  const T* weights = nullptr;
  const T* offsets = nullptr;
  const T* bias = nullptr;  // may be null
  const T* mask = nullptr;  // may be null
  T* y = nullptr;
};

// Bytes of working memory, to be aligned to 64.
template <class T>
size_t DeformableMemory(const DeformableShape& shape, const ThreadPool& pool);

template <class T>
void ConvolveDeformed(const DeformableArgs<T>& args, void* workspace, ThreadPool& pool);

}  // namespace deputy::host
