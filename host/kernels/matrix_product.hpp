// Matrix products split over the pool: one, or a batch of them with numpy broadcasting. Floats go to linalg; integers
// are multiplied here, and wrap around.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.hpp"
#include "kernels/linalg/linalg.hpp"

namespace deputy::host {

// The product of `matrices` gives the extents, leading dimensions and the first matrix of each operand; the batch
// extents, which must broadcast to `c_batch`, say how many there are. Matrices of a batch follow each other without
// gaps. T is float, double, int32_t, int64_t, uint32_t or uint64_t.
template <class T>
struct BatchedProduct {
  linalg::GemmArgs<T> matrices;
  std::span<const int64_t> a_batch, b_batch, c_batch;
};

template <class T>
void MultiplyBatch(const BatchedProduct<T>& product, ThreadPool& pool);

template <class T>
void MultiplyMatrices(const linalg::GemmArgs<T>& product, ThreadPool& pool) {
  MultiplyBatch(BatchedProduct<T>{product, {}, {}, {}}, pool);
}

}  // namespace deputy::host
