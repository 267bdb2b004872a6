// Matrix products on the thread pool: one, or a batch of them with numpy broadcasting. Floats are multiplied by linalg;
// integers are multiplied here, and wrap around.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.hpp"
#include "kernels/linalg/linalg.hpp"

namespace deputy::host {

// The product of `matrices` gives the extents, leading dimensions and the first matrix of each operand; the batch
// extents, which must broadcast to `c_batch`, give the number of matrices. Matrices of a batch follow each other
// without gaps. T is float, double, int32_t, int64_t, uint32_t or uint64_t.
template <class T>
struct BatchedProduct {
  linalg::GemmArgs<T> matrices;
  std::span<const int64_t> a_batch, b_batch, c_batch;
};

// Bytes of working memory, to be aligned to 64.
template <class T>
size_t BatchWorkspace(const BatchedProduct<T>& product, const ThreadPool& pool);
template <class T>
void MultiplyBatch(const BatchedProduct<T>& product, void* workspace, ThreadPool& pool);

// One product.
template <class T>
size_t ProductWorkspace(const linalg::GemmArgs<T>& product, const ThreadPool& pool) {
  return BatchWorkspace(BatchedProduct<T>{product, {}, {}, {}}, pool);
}
template <class T>
void MultiplyMatrices(const linalg::GemmArgs<T>& product, void* workspace, ThreadPool& pool) {
  MultiplyBatch(BatchedProduct<T>{product, {}, {}, {}}, workspace, pool);
}

}  // namespace deputy::host
