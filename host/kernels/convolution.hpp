// Convolutions over any number of spatial axes, grouped, strided, dilated, padded, for float and double; those of pairs
// (linalg.hpp) have pairs of channels, int32 outputs, and are never transposed.
//
// Four ways, chosen by shape: a convolution of one tap is a matrix product; one input channel per group (depthwise)
// is, for floats, a weighted sum of shifted rows; constant filters of 3 x 3 floats are transformed; all others are
// converted to columns, tile by tile, and multiplied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned.hpp"
#include "base/thread_pool.hpp"
#include "kernels/linalg/linalg.hpp"
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

// Constant weights of floats, once more in the order in which they are read. Products take them as they are, without
// packing them in each run. Those of 3 x 3 taps without strides and dilations are transformed for Winograd's minimal
// filtering (linalg.hpp), which needs 16 products in place of 36, and are then nearly twice as large.
struct PackedWeights {
  enum class Order : uint8_t { kUnpacked, kProduct, kWinograd };
  Order order = Order::kUnpacked;
  linalg::Level level = linalg::Level::kBaseline;  // that reads them; others use the weights themselves
  int64_t channel_block = 0;                       // of kProduct: input channels of one product
  AlignedBytes elements;

  const float* group(int64_t index, int64_t size) const {  // `size`: elements of each group
    return reinterpret_cast<const float*>(elements.get()) + index * size;
  }
};

// Extents of images that are not known are negative; the batch is not used. kUnpacked where it would not help, or
// without memory for it.
PackedWeights PackWeights(const ConvolutionShape& shape, const float* weights);

// Weights are [out_channels, in_channels / group, kernel...]; bias is [out_channels] or null. `workspace` has
// ConvolutionWorkspace bytes, aligned to 64. `packed`, if not null, holds the same weights.
template <class T>
size_t ConvolutionWorkspace(const ConvolutionShape& shape, const ThreadPool& pool,
                            const PackedWeights* packed = nullptr);
template <class T>
void Convolve(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y, void* workspace,
              ThreadPool& pool, const PackedWeights* packed = nullptr);

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

// Whether Winograd's minimal filtering computes this convolution, and is faster; unknown extents as above. The next
// ones are as ConvolutionWorkspace and Convolve.
bool SuitsWinograd(const ConvolutionShape& shape);
AlignedBytes TransformWeights(const ConvolutionShape& shape, const float* weights);
size_t WinogradWorkspace(const ConvolutionShape& shape, const ThreadPool& pool);
void ConvolveWinograd(const ConvolutionShape& shape, const float* x, const PackedWeights& weights, const float* bias,
                      float* y, void* workspace, ThreadPool& pool);

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
