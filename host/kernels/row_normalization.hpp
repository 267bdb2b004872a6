// Normalizations by a norm, without a mean: each row, or each line along an axis.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "kernels/reduce.hpp"

namespace deputy::host {

// x and y are [rows, size]: each row divided by the root of its mean square, then scaled by element.
template <class T>
void RootMeanSquareNormalize(int64_t rows, int64_t size, double epsilon, const T* x, const T* scale, T* y,
                             ThreadPool& pool);

// Each line along the axis divided by its norm: the sum of magnitudes (p = 1) or the root of the sum of squares (p =
// 2). A line of zeros is unchanged.
template <class T>
void NormNormalize(const AxisView& view, int p, const T* x, T* y, ThreadPool& pool);

}  // namespace deputy::host
