#include "kernels/matrix_product.hpp"

#include <algorithm>
#include <type_traits>

#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

template <class T>
void MultiplyOne(const linalg::GemmArgs<T>& args) {
  if constexpr (std::is_floating_point_v<T>) {
    linalg::Gemm(args);
  } else {
    using U = std::make_unsigned_t<T>;  // overflow wraps around; in a signed type it would be undefined
    for (int64_t i = 0; i < args.m; ++i) {
      T* row = args.c + i * args.ldc;
      for (int64_t j = 0; j < args.n; ++j)
        row[j] = args.beta == T(0) ? T(0) : static_cast<T>(static_cast<U>(row[j]) * static_cast<U>(args.beta));
      for (int64_t p = 0; p < args.k; ++p) {
        const T a = args.transpose_a ? args.a[p * args.lda + i] : args.a[i * args.lda + p];
        const U scaled = static_cast<U>(a) * static_cast<U>(args.alpha);
        const T* b = args.transpose_b ? args.b + p : args.b + p * args.ldb;
        const int64_t step = args.transpose_b ? args.ldb : 1;
        for (int64_t j = 0; j < args.n; ++j)
          row[j] = static_cast<T>(static_cast<U>(row[j]) + scaled * static_cast<U>(b[j * step]));
      }
    }
  }
}

// Index of the operand's matrix that belongs to matrix `index` of the result.
int64_t BatchIndex(int64_t index, std::span<const int64_t> c_batch, std::span<const int64_t> batch) {
  int64_t result = 0, stride = 1;
  for (size_t i = 0; i < batch.size(); ++i) {  // from the innermost
    const int64_t extent = batch[batch.size() - 1 - i], c_extent = c_batch[c_batch.size() - 1 - i];
    if (extent != 1) result += index % c_extent * stride;
    stride *= extent;
    index /= c_extent;
  }
  return result;
}

// Product `piece` of the `pieces` along rows or columns of C.
template <class T>
linalg::GemmArgs<T> Piece(linalg::GemmArgs<T> args, bool by_rows, int64_t size, int64_t piece) {
  const int64_t first = piece * size;
  if (by_rows) {
    args.a += args.transpose_a ? first : first * args.lda;
    args.c += first * args.ldc;
    args.m = std::min(size, args.m - first);
  } else {
    args.b += args.transpose_b ? first * args.ldb : first;
    args.c += first;
    args.n = std::min(size, args.n - first);
  }
  return args;
}

}  // namespace

template <class T>
void MultiplyBatch(const BatchedProduct<T>& product, ThreadPool& pool) {
  linalg::GemmArgs<T> args = product.matrices;
  int64_t count = ElementCount(product.c_batch);
  if (count == 0 || args.m == 0 || args.n == 0) return;
  const int64_t a_size = args.m * args.k, b_size = args.k * args.n, c_size = args.m * args.n;
  // One B for the whole batch: the As under each other are one matrix.
  if (count > 1 && ElementCount(product.b_batch) == 1 && ElementCount(product.a_batch) == count && !args.transpose_a) {
    args.m *= count;
    count = 1;
  }
  // Cuts are worth it from some ten thousand multiplications on.
  constexpr double kLeastWork = 32768;
  const double work = static_cast<double>(count * args.m) * static_cast<double>(args.n) *
                      static_cast<double>(std::max<int64_t>(args.k, 1));
  const double wanted = pool.thread_count() == 1 ? 1 : std::min(work / kLeastWork, 4.0 * pool.thread_count());
  const bool by_rows = args.m >= args.n;
  const int64_t length = by_rows ? args.m : args.n;
  const int64_t cuts = std::clamp<int64_t>(static_cast<int64_t>(wanted) / count, 1, length);
  // Whole register blocks, so that the cuts leave no remainders of their own.
  constexpr int64_t kRegisterBlock = 16;
  const int64_t size = ((length + cuts - 1) / cuts + kRegisterBlock - 1) / kRegisterBlock * kRegisterBlock;
  const int64_t pieces = (length + size - 1) / size;
  const int64_t grain =
      std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(count * pieces) / std::max(1.0, wanted)));
  pool.ParallelFor(count * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      linalg::GemmArgs<T> one = args;
      if (count > 1) {
        const int64_t index = item / pieces;
        one.a += BatchIndex(index, product.c_batch, product.a_batch) * a_size;
        one.b += BatchIndex(index, product.c_batch, product.b_batch) * b_size;
        one.c += index * c_size;
      }
      MultiplyOne(Piece(one, by_rows, size, item % pieces));
    }
  });
}

template void MultiplyBatch(const BatchedProduct<float>&, ThreadPool&);
template void MultiplyBatch(const BatchedProduct<double>&, ThreadPool&);
template void MultiplyBatch(const BatchedProduct<int32_t>&, ThreadPool&);
template void MultiplyBatch(const BatchedProduct<int64_t>&, ThreadPool&);
template void MultiplyBatch(const BatchedProduct<uint32_t>&, ThreadPool&);
template void MultiplyBatch(const BatchedProduct<uint64_t>&, ThreadPool&);

}  // namespace deputy::host
