#include "kernels/matrix_product.hpp"

#include <algorithm>
#include <type_traits>

#include "base/memory_budget.hpp"
#include "kernels/parts.hpp"
#include "kernels/slots.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// Element types that the modules of linalg/ multiply.
template <class T>
constexpr bool kHasGemm =
    std::is_floating_point_v<T> || std::is_same_v<T, linalg::Int16Pair> || std::is_same_v<T, linalg::Int8Quad>;

template <class T>
void MultiplyOne(const linalg::GemmArgs<T>& args, void* workspace) {
  if constexpr (kHasGemm<T>) {
    linalg::Gemm(args, workspace);
  } else {
    using U = std::make_unsigned_t<T>;  // overflow wraps around; in a signed type it would be undefined
    ForEachUntilEnd(0, args.m, StepsOf(args.n, std::max<int64_t>(1, args.k)), [&](int64_t i) {
      T* row = args.c + i * args.ldc;
      for (int64_t j = 0; j < args.n; ++j)
        row[j] = args.beta == T(0) ? T(0) : static_cast<T>(static_cast<U>(row[j]) * static_cast<U>(args.beta));
      ForEachUntilEnd(0, args.k, args.n, [&](int64_t p) {
        const T a = args.transpose_a ? args.a[p * args.lda + i] : args.a[i * args.lda + p];
        const U scaled = static_cast<U>(a) * static_cast<U>(args.alpha);
        const T* b = args.transpose_b ? args.b + p : args.b + p * args.ldb;
        const int64_t step = args.transpose_b ? args.ldb : 1;
        for (int64_t j = 0; j < args.n; ++j)
          row[j] = static_cast<T>(static_cast<U>(row[j]) + scaled * static_cast<U>(b[j * step]));
      });
    });
  }
}

// Index of the operand's matrix for matrix `index` of the result.
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
linalg::GemmArgs<T> PieceOf(linalg::GemmArgs<T> args, bool by_rows, int64_t size, int64_t piece) {
  const int64_t first = piece * size;
  if (by_rows) {
    args.a += args.transpose_a ? first : first * args.lda;
    args.c += first * args.ldc;
    args.m = std::min(size, args.m - first);
  } else {
    if constexpr (kHasGemm<T>) {
      if (args.b_in_panels) args.b += first / linalg::PanelWidth<T>() * args.ldb;
    }
    if (!args.b_in_panels) args.b += args.transpose_b ? first * args.ldb : first;
    args.c += first;
    args.n = std::min(size, args.n - first);
  }
  return args;
}

// The division of a batch among threads: `count` products of `matrices`, each in `pieces` along its rows or columns.
template <class T>
struct Shares {
  linalg::GemmArgs<T> matrices;
  int64_t count, pieces, size, slots, grain;
  bool by_rows;
  size_t slot_bytes = 0;

  Shares(const BatchedProduct<T>& product, const ThreadPool& pool)
      : matrices(product.matrices), count(ElementCount(product.c_batch)) {
    // One B for the whole batch: the As are stacked into one matrix.
    if (count > 1 && ElementCount(product.b_batch) == 1 && ElementCount(product.a_batch) == count &&
        !matrices.transpose_a) {
      matrices.m *= count;
      count = 1;
    }
    constexpr double kLeastWork = 65536;  // multiplications per thread
    const double work = static_cast<double>(count * matrices.m) * static_cast<double>(matrices.n) *
                        static_cast<double>(std::max<int64_t>(matrices.k, 1));
    const int64_t threads = std::max<int64_t>(
        1, static_cast<int64_t>(std::min(work / kLeastWork, static_cast<double>(pool.thread_count()))));
    // The longer side is divided: the other operand is packed for each piece.
    by_rows = matrices.m >= matrices.n;
    const int64_t length = std::max<int64_t>(1, by_rows ? matrices.m : matrices.n);
    const int64_t shared = threads == 1 || count >= 4 * threads ? 1 : (threads + count - 1) / count;
    // A run can be cancelled between two products, and in a long one between its blocks, which products of vectors do
    // not have. Packing the other operand again costs little compared with 256 rows or columns.
    constexpr double kMostWork = 4e9, kMostVectorWork = 1e8;
    const bool is_vector = std::min(matrices.m, matrices.n) <= 3;
    const double parts =
        work / static_cast<double>(std::max<int64_t>(count, 1)) / (is_vector ? kMostVectorWork : kMostWork);
    const double most_parts = static_cast<double>(length / 256);
    const int64_t wanted = std::max(shared, static_cast<int64_t>(std::min(parts, most_parts)));
    int64_t block = 16;  // a multiple of the rows of a register block
    if constexpr (kHasGemm<T>) {
      if (!by_rows) block = std::max(block, linalg::PanelWidth<T>());
    }
    size = ((length + wanted - 1) / wanted + block - 1) / block * block;
    pieces = (length + size - 1) / size;
    grain = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(count * pieces) * kLeastWork / (work + 1)));
    slots = std::max<int64_t>(1, std::min(threads, count * pieces));
    if constexpr (kHasGemm<T>) {
      linalg::GemmArgs<T> largest = matrices;
      (by_rows ? largest.m : largest.n) = std::min(size, length);
      slot_bytes = AlignUp(linalg::GemmWorkspace(largest));
    }
  }
};

template <class T>
bool IsEmpty(const BatchedProduct<T>& product) {
  return ElementCount(product.c_batch) == 0 || product.matrices.m == 0 || product.matrices.n == 0;
}

}  // namespace

template <class T>
size_t BatchWorkspace(const BatchedProduct<T>& product, const ThreadPool& pool) {
  if (IsEmpty(product)) return 0;
  const Shares<T> shares(product, pool);
  return static_cast<size_t>(shares.slots) * shares.slot_bytes;
}

template <class T>
void MultiplyBatch(const BatchedProduct<T>& product, void* workspace, ThreadPool& pool) {
  if (IsEmpty(product)) return;
  const Shares<T> shares(product, pool);
  const linalg::GemmArgs<T>& args = shares.matrices;
  const int64_t a_size = args.m * args.k, b_size = args.k * args.n, c_size = args.m * args.n;
  const int64_t items = shares.count * shares.pieces, chunks = (items + shares.grain - 1) / shares.grain;
  ForEachInSlots(pool, chunks, std::min(shares.slots, chunks), [&](int64_t chunk, int64_t slot) {
    void* memory = static_cast<char*>(workspace) + static_cast<size_t>(slot) * shares.slot_bytes;
    for (int64_t item = chunk * shares.grain; item < std::min(items, (chunk + 1) * shares.grain); ++item) {
      linalg::GemmArgs<T> one = args;
      if (shares.count > 1) {
        const int64_t index = item / shares.pieces;
        one.a += BatchIndex(index, product.c_batch, product.a_batch) * a_size;
        one.b += BatchIndex(index, product.c_batch, product.b_batch) * b_size;
        one.c += index * c_size;
      }
      MultiplyOne(PieceOf(one, shares.by_rows, shares.size, item % shares.pieces), memory);
    }
  });
}

PackedMatrix PackMatrix(const linalg::GemmArgs<float>& product) {
  const int64_t panel = linalg::PanelWidth<float>(), columns = (product.n + panel - 1) / panel * panel;
  PackedMatrix packed;
  packed.level = linalg::ActiveLevel();
  packed.panels = AllocateWeights(static_cast<size_t>(columns * product.k) * sizeof(float));
  if (packed.panels != nullptr) linalg::PackRight(product, reinterpret_cast<float*>(packed.panels.get()));
  return packed;
}

bool TakePacked(const PackedMatrix& packed, linalg::GemmArgs<float>& product) {
  if (packed.panels == nullptr || packed.level != linalg::ActiveLevel()) return false;
  product.b = reinterpret_cast<const float*>(packed.panels.get());
  product.ldb = product.k * linalg::PanelWidth<float>();
  product.b_in_panels = true;
  product.transpose_b = false;
  return true;
}

template size_t BatchWorkspace(const BatchedProduct<float>&, const ThreadPool&);
template void MultiplyBatch(const BatchedProduct<float>&, void*, ThreadPool&);
template size_t BatchWorkspace(const BatchedProduct<double>&, const ThreadPool&);
template void MultiplyBatch(const BatchedProduct<double>&, void*, ThreadPool&);
template size_t BatchWorkspace(const BatchedProduct<linalg::Int16Pair>&, const ThreadPool&);
template void MultiplyBatch(const BatchedProduct<linalg::Int16Pair>&, void*, ThreadPool&);
template size_t BatchWorkspace(const BatchedProduct<linalg::Int8Quad>&, const ThreadPool&);
template void MultiplyBatch(const BatchedProduct<linalg::Int8Quad>&, void*, ThreadPool&);
template size_t BatchWorkspace(const BatchedProduct<int32_t>&, const ThreadPool&);
template void MultiplyBatch(const BatchedProduct<int32_t>&, void*, ThreadPool&);
template size_t BatchWorkspace(const BatchedProduct<int64_t>&, const ThreadPool&);
template void MultiplyBatch(const BatchedProduct<int64_t>&, void*, ThreadPool&);
template size_t BatchWorkspace(const BatchedProduct<uint32_t>&, const ThreadPool&);
template void MultiplyBatch(const BatchedProduct<uint32_t>&, void*, ThreadPool&);
template size_t BatchWorkspace(const BatchedProduct<uint64_t>&, const ThreadPool&);
template void MultiplyBatch(const BatchedProduct<uint64_t>&, void*, ThreadPool&);

}  // namespace deputy::host
