// Clip, and activations with parameters, element by element. Source and target may be the same memory.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// x * Phi(x), with the normal distribution's Phi or with its approximation by tanh.
template <class T>
void Gelu(const T* x, T* y, int64_t count, bool tanh, ThreadPool& pool);

// x + bias below -threshold, x - bias above threshold, 0 in between.
template <class T>
void Shrink(const T* x, T* y, int64_t count, T threshold, T bias, ThreadPool& pool);

// The same for integers: the results are truncated, and wrap.
template <class T>
void ShrinkWhole(const T* x, T* y, int64_t count, double threshold, double bias, ThreadPool& pool);

// target = min(max(source, low), high); NaN is kept. `low` and `high` point to one element of the dtype or are null for
// no bound. Where low > high every result is high. False for a dtype that is not numeric.
bool Clip(DType dtype, const void* source, const void* low, const void* high, void* target, int64_t count,
          ThreadPool& pool);

}  // namespace deputy::host
