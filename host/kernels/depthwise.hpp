// Convolutions with one input channel per group: each output plane is one input plane under one filter.
#pragma once

#include "kernels/convolution.hpp"

namespace deputy::host {

// Whether the functions below compute this convolution, which must not be empty. They do not for strides and dilations
// far larger than the input.
bool IsDepthwise(const ConvolutionShape& shape);

// As ConvolutionWorkspace and Convolve.
template <class T>
size_t DepthwiseWorkspace(const ConvolutionShape& shape, const ThreadPool& pool);
template <class T>
void ConvolveDepthwise(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                       void* workspace, ThreadPool& pool);

}  // namespace deputy::host
