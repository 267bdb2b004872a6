#include <algorithm>
#include <array>

#include "base/aligned.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/slots.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kMatrixLanes = 16;

template <class T>
T ZeroPoint(const BlockMatrix<T>& matrix, int64_t column, int64_t block) {
  if (matrix.zero_points != nullptr) return matrix.zero_points[column * matrix.blocks() + block];
  if (matrix.packed_zeros == nullptr) return static_cast<T>(1 << (matrix.bits - 1));
  const int64_t bit = block * matrix.bits;
  const int byte = matrix.packed_zeros[column * matrix.zero_bytes() + bit / 8];
  return static_cast<T>(byte >> (bit % 8) & ((1 << matrix.bits) - 1));
}

// A row of x, split into 8 / bits streams by the position of an element's bits in its byte, padded with zeros to whole
// blocks, followed by the sum of each block.
template <class T>
struct RowStreams {
  int64_t bytes = 0, blocks = 0, streams = 0;

  explicit RowStreams(const BlockMatrix<T>& matrix)
      : bytes(matrix.column_bytes()), blocks(matrix.blocks()), streams(8 / matrix.bits) {}
  int64_t count() const { return bytes * streams + blocks; }

  void Fill(const BlockMatrix<T>& matrix, const T* x, T* to) const {
    std::fill_n(to, count(), T(0));
    for (int64_t i = 0; i < matrix.rows; ++i) {
      to[i % streams * bytes + i / streams] = x[i];
      to[bytes * streams + i / matrix.block] += x[i];
    }
  }
};

// Adds the products of one block to the lanes.
template <int kBits, class T>
void AddBlock(const T* streams, int64_t stream_step, const uint8_t* bytes, int64_t count, T scale, T* lanes) {
  constexpr int kMask = (1 << kBits) - 1;
  std::array<T, kMatrixLanes> sums = {};
  for (int64_t i = 0; i < count; i += kMatrixLanes) {
    const int64_t width = std::min(kMatrixLanes, count - i);
    for (int shift = 0; shift < 8; shift += kBits) {
      const T* const x = streams + shift / kBits * stream_step + i;
      if (width == kMatrixLanes) {
        for (int64_t lane = 0; lane < kMatrixLanes; ++lane)
          sums[static_cast<size_t>(lane)] += x[lane] * static_cast<T>(bytes[i + lane] >> shift & kMask);
      } else {
        for (int64_t lane = 0; lane < width; ++lane)
          sums[static_cast<size_t>(lane)] += x[lane] * static_cast<T>(bytes[i + lane] >> shift & kMask);
      }
    }
  }
  for (int64_t lane = 0; lane < kMatrixLanes; ++lane) lanes[lane] += scale * sums[static_cast<size_t>(lane)];
}

template <int kBits, class T>
T MultiplyColumn(const BlockMatrix<T>& matrix, const RowStreams<T>& layout, const T* streams, int64_t column) {
  const uint8_t* const bytes = matrix.bytes + column * matrix.column_bytes();
  const T* const scales = matrix.scales + column * layout.blocks;
  const T* const block_sums = streams + layout.bytes * layout.streams;
  std::array<T, kMatrixLanes> lanes = {};
  T sum = 0;
  for (int64_t block = 0; block < layout.blocks; ++block) {
    const int64_t at = block * matrix.block_bytes();
    AddBlock<kBits>(streams + at, layout.bytes, bytes + at, matrix.block_bytes(), scales[block], lanes.data());
    sum -= scales[block] * ZeroPoint(matrix, column, block) * block_sums[block];
  }
  for (const T lane : lanes) sum += lane;
  return sum;
}

template <class T>
void MultiplyDirectly(const BlockMatrix<T>& matrix, int64_t rows, const T* x, const T* bias, T* y, T* memory,
                      ThreadPool& pool) {
  const RowStreams<T> layout(matrix);
  for (int64_t row = 0; row < rows; ++row) layout.Fill(matrix, x + row * matrix.rows, memory + row * layout.count());
  const auto multiply = matrix.bits == 2   ? MultiplyColumn<2, T>
                        : matrix.bits == 4 ? MultiplyColumn<4, T>
                                           : MultiplyColumn<8, T>;
  const int64_t grain = 32 * 1024 / std::max<int64_t>(1, matrix.rows * rows) + 1;
  pool.ParallelFor(matrix.columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column)
      for (int64_t row = 0; row < rows; ++row)
        y[row * matrix.columns + column] =
            (bias == nullptr ? T(0) : bias[column]) + multiply(matrix, layout, memory + row * layout.count(), column);
  });
}

// Columns [first, first + count) as a panel of linalg, padded with zeros.
template <class T>
void WidenPanel(const BlockMatrix<T>& matrix, int64_t first, int64_t count, int64_t width, T* panel) {
  if (count < width) std::fill_n(panel, width * matrix.rows, T(0));
  const int64_t streams = 8 / matrix.bits;
  const int mask = (1 << matrix.bits) - 1;
  for (int64_t block = 0; block < matrix.blocks(); ++block) {
    const int64_t begin = block * matrix.block, end = std::min(matrix.rows, begin + matrix.block);
    for (int64_t column = 0; column < count; ++column) {
      // An integer of few bits has few values.
      const T scale = matrix.scales[(first + column) * matrix.blocks() + block];
      const T zero = ZeroPoint(matrix, first + column, block);
      const uint8_t* bytes = matrix.bytes + (first + column) * matrix.column_bytes() + block * matrix.block_bytes();
      T* to = panel + begin * width + column;
      if (streams == 1) {
        for (int64_t i = begin; i < end; ++i, to += width) *to = (static_cast<T>(*bytes++) - zero) * scale;
        continue;
      }
      std::array<T, 16> values;
      for (int i = 0; i <= mask; ++i) values[static_cast<size_t>(i)] = (static_cast<T>(i) - zero) * scale;
      for (int64_t i = begin; i < end; i += streams) {
        uint32_t byte = *bytes++;
        for (int64_t s = 0; s < streams && i + s < end; ++s, to += width, byte >>= matrix.bits)
          *to = values[byte & static_cast<uint32_t>(mask)];
      }
    }
  }
}

// The division of panels among threads.
template <class T>
struct PanelWork {
  int64_t width, panels, together, items;
  size_t panel_bytes, slot_bytes;

  PanelWork(const BlockMatrix<T>& matrix, int64_t rows)
      : width(linalg::PanelWidth<T>()),
        panels((matrix.columns + width - 1) / width),
        together(rows > 64 ? std::min<int64_t>(4, panels) : 1),
        items((panels + together - 1) / together),
        panel_bytes(AlignUp(static_cast<size_t>(together * width * matrix.rows) * sizeof(T))),
        slot_bytes(panel_bytes + AlignUp(linalg::GemmWorkspace(Product(matrix, rows, together * width)))) {}

  static linalg::GemmArgs<T> Product(const BlockMatrix<T>& matrix, int64_t rows, int64_t columns) {
    linalg::GemmArgs<T> product;
    product.m = rows;
    product.n = columns;
    product.k = product.lda = matrix.rows;
    product.ldb = linalg::PanelWidth<T>() * matrix.rows;
    product.b_in_panels = true;
    product.ldc = matrix.columns;
    return product;
  }
};

}  // namespace

template <class T>
size_t BlockProductWorkspace(const BlockMatrix<T>& matrix, int64_t rows, const ThreadPool& pool) {
  if (rows <= kMostDirectRows) return static_cast<size_t>(rows * RowStreams<T>(matrix).count()) * sizeof(T);
  const PanelWork<T> work(matrix, rows);
  return static_cast<size_t>(SlotCount(pool, work.items)) * work.slot_bytes;
}

template <class T>
void MultiplyBlocks(const BlockMatrix<T>& matrix, int64_t rows, const T* x, const T* bias, T* y, void* workspace,
                    ThreadPool& pool) {
  if (rows <= kMostDirectRows) return MultiplyDirectly(matrix, rows, x, bias, y, static_cast<T*>(workspace), pool);
  const PanelWork<T> work(matrix, rows);
  ForEachInSlots(pool, work.items, [&](int64_t item, int64_t slot) {
    char* const memory = static_cast<char*>(workspace) + static_cast<size_t>(slot) * work.slot_bytes;
    T* const panels = reinterpret_cast<T*>(memory);
    const int64_t first = item * work.together * work.width;
    const int64_t count = std::min(work.together * work.width, matrix.columns - first);
    for (int64_t at = 0; at < count; at += work.width)
      WidenPanel(matrix, first + at, std::min(work.width, count - at), work.width, panels + at * matrix.rows);
    linalg::GemmArgs<T> product = PanelWork<T>::Product(matrix, rows, count);
    product.a = x;
    product.b = panels;
    product.c = y + first;
    product.beta = bias == nullptr ? T(0) : T(1);
    for (int64_t row = 0; bias != nullptr && row < rows; ++row)
      std::copy_n(bias + first, count, product.c + row * matrix.columns);
    linalg::Gemm(product, memory + work.panel_bytes);
  });
}

template size_t BlockProductWorkspace<float>(const BlockMatrix<float>&, int64_t, const ThreadPool&);
template size_t BlockProductWorkspace<double>(const BlockMatrix<double>&, int64_t, const ThreadPool&);
template void MultiplyBlocks<float>(const BlockMatrix<float>&, int64_t, const float*, const float*, float*, void*,
                                    ThreadPool&);
template void MultiplyBlocks<double>(const BlockMatrix<double>&, int64_t, const double*, const double*, double*, void*,
                                     ThreadPool&);

}  // namespace deputy::host
