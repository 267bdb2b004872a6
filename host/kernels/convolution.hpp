// Convolutions over any number of spatial axes, grouped, strided, dilated, padded, for float and double; those of pairs
// (linalg.hpp) have pairs of channels, int32 outputs, and are never transposed.
//
// Three ways, chosen by shape: a convolution of one tap is a matrix product; one input channel per group (depthwise)
// is, for floats, a weighted sum of shifted rows; all others are converted to columns, tile by tile, and multiplied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.hpp"
#include "tensor/window.hpp"

namespace deputy::host {

// Extents, all known and consistent. x is [batch, in_channels, in...], y [batch, out_channels, out...].
struct ConvolutionShape {
  int64_t batch = 0, group = 1;
  int64_t in_channels = 0, out_channels = 0;
  Window window;  // resolved
  SpatialDims in = {}, out = {};
};

// Weights are [out_channels, in_channels / group, kernel...]; bias is [out_channels] or null. `workspace` has
// ConvolutionWorkspace bytes, aligned to 64.
template <class T>
size_t ConvolutionWorkspace(const ConvolutionShape& shape, const ThreadPool& pool);
template <class T>
void Convolve(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y, void* workspace,
              ThreadPool& pool);

// Weights are [in_channels, out_channels / group, kernel...]. The window moves over y.
template <class T>
size_t TransposedConvolutionWorkspace(const ConvolutionShape& shape, const ThreadPool& pool);
template <class T>
void ConvolveTransposed(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                        void* workspace, ThreadPool& pool);

}  // namespace deputy::host
