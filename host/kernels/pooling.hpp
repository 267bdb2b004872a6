// Pools over any number of spatial axes. x is [planes, in...] and y [planes, out...]; a plane is one channel of one
// image.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "tensor/window.hpp"

namespace deputy::host {

struct PoolShape {
  int64_t planes = 0;
  Window window;  // resolved
  SpatialDims in = {}, out = {};
};

// A window with padding only gives the lowest value of T. `indices`, when not null, receives the flat index into x of
// each maximum, the first of equal ones; with `column_major` the index in a plane counts with its first spatial axis
// fastest. T is float, double, int8_t or uint8_t.
template <class T>
void MaxPool(const PoolShape& shape, const T* x, T* y, int64_t* indices, bool column_major, ThreadPool& pool);

// The divisor of a window's sum: its taps inside the input, those inside the input or its padding, or all.
enum class PoolDivisor { kInside, kPadded, kAll };

// The mean of a window. A window with padding only gives zero. T is float or double.
template <class T>
void AveragePool(const PoolShape& shape, const T* x, T* y, PoolDivisor divisor, ThreadPool& pool);

// One value for each plane of `size` elements.
template <class T>
void GlobalMaxPool(int64_t planes, int64_t size, const T* x, T* y, ThreadPool& pool);
template <class T>
void GlobalAveragePool(int64_t planes, int64_t size, const T* x, T* y, ThreadPool& pool);
// For 8-bit integers, less a zero point; the sums are exact.
template <class T>
void GlobalAverageIntegers(int64_t planes, int64_t size, const T* x, int32_t zero_point, float* y, ThreadPool& pool);

}  // namespace deputy::host
