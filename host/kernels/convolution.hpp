// Convolutions over any number of spatial axes, grouped, strided, dilated, padded, for float and double; those of pairs
// (linalg.hpp) have pairs of channels, int32 outputs, and are never transposed.
//
// Three ways, chosen by shape: a convolution of one tap is a matrix product; one input channel per group (depthwise)
// is, for floats, a weighted sum of shifted rows; all others are converted to columns, tile by tile, and multiplied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.hpp"
#include "kernels/quantize.hpp"
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

// Adds to y the products of parts of the weights, sorted in no order: a line is a filter, a step a place of its
// weights. The window has no padding.
void AddRest(const ConvolutionShape& shape, const linalg::Int8Quad* x, std::span<const QuadRest> rest, int32_t* y,
             ThreadPool& pool);

// Weights are [in_channels, out_channels / group, kernel...]. The window moves over y.
template <class T>
size_t TransposedConvolutionWorkspace(const ConvolutionShape& shape, const ThreadPool& pool);
template <class T>
void ConvolveTransposed(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                        void* workspace, ThreadPool& pool);

// Convolutions with one input channel per group: each output plane is one input plane under one filter. Whether the
// functions below compute this convolution, which must not be empty. They do not for strides and dilations
// far larger than the input.
bool IsDepthwise(const ConvolutionShape& shape);

// As ConvolutionWorkspace and Convolve.
template <class T>
size_t DepthwiseWorkspace(const ConvolutionShape& shape, const ThreadPool& pool);
template <class T>
void ConvolveDepthwise(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                       void* workspace, ThreadPool& pool);

// Convolution of images with offsets for the taps of each output position; samples are interpolated between pixels. x
// is [batch, in_channels, in], weights [out_channels, in_channels / group, kernel], offsets [batch, offset_groups,
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
