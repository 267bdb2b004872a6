// Matrix products on the thread pool: one, or a batch of them with numpy broadcasting. Floats are multiplied by linalg;
// integers are multiplied here, and wrap around.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned.hpp"
#include "base/thread_pool.hpp"
#include "kernels/linalg/linalg.hpp"

namespace deputy::host {

// The product of `matrices` gives the extents, leading dimensions and the first matrix of each operand; the batch
// extents, which must broadcast to `c_batch`, give the number of matrices. Matrices of a batch follow each other
// without gaps; B in panels is one matrix, which a piece begins at a whole panel of. T is float, double, int32_t,
// int64_t, uint32_t or uint64_t.
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

// A constant matrix on the right of products, once more in the order in which they read it.
struct PackedMatrix {
  linalg::Level level = linalg::Level::kBaseline;  // that reads it; others use the matrix itself
  AlignedBytes panels;                             // null without memory for them
};

// B of a product.
PackedMatrix PackMatrix(const linalg::GemmArgs<float>& product);
// Makes it the product's B; false, without a change, where it cannot be read.
bool TakePacked(const PackedMatrix& packed, linalg::GemmArgs<float>& product);

// Matrices of integers of 2, 4 or 8 bits with a scale and a zero point for each block of a column, and products of
// floats with them: few rows directly from the integers, more rows from panels of dequantized columns. Columns are
// stored one after the other, each as blocks of bytes that hold 8 / bits elements, the first in the lowest bits. The
// last block is padded with any values.
template <class T>
struct BlockMatrix {
  int64_t rows = 0, columns = 0, block = 0, bits = 0;
  const uint8_t* bytes = nullptr;
  const T* scales = nullptr;              // by column, then block
  const T* zero_points = nullptr;         // in the same order, or null
  const uint8_t* packed_zeros = nullptr;  // of each column in whole bytes, or null: half of the range

  int64_t blocks() const { return (rows + block - 1) / block; }
  int64_t block_bytes() const { return block / 8 * bits; }
  int64_t column_bytes() const { return blocks() * block_bytes(); }
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }
};

// The largest number of rows that are multiplied with the integers directly.
inline constexpr int64_t kMostDirectRows = 4;

// y[row, column] = bias[column] + the product of x, which is [rows, matrix.rows], and the matrix. `workspace` has
// BlockProductWorkspace bytes, aligned to 64; they depend on extents only.
template <class T>
size_t BlockProductWorkspace(const BlockMatrix<T>& matrix, int64_t rows, const ThreadPool& pool);
template <class T>
void MultiplyBlocks(const BlockMatrix<T>& matrix, int64_t rows, const T* x, const T* bias, T* y, void* workspace,
                    ThreadPool& pool);

}  // namespace deputy::host
