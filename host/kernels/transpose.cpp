// If the innermost dimension changes, accesses along it or along the new one have a stride. Both are then iterated in
// square tiles, so that each cache line is used completely.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/cancellation.hpp"
#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kTransposeTile = 16;
constexpr int64_t kTransposePart = 1 << 18;  // columns between two checks whether the run ends; whole tiles

// A matrix: `rows` follow the source's innermost dimension (source stride 1), columns the target's (target stride 1).
struct Plane {
  int64_t rows, columns, source_column_stride, target_row_stride;
};

typedef uint32_t Quad __attribute__((vector_size(16)));

// Four rows of four elements, transposed.
void TurnQuad(const uint32_t* from, int64_t step, uint32_t* to, int64_t to_step) {
  Quad rows[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&rows[i], from + i * step, sizeof rows[i]);
  const Quad low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Quad low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Quad high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  const Quad turned[4] = {
      __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
      __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_step, &turned[i], sizeof turned[i]);
}

template <class T>
void TransposeTile(const Plane& plane, const T* source, T* target, int64_t r, int64_t r_end, int64_t c, int64_t c_end) {
  if constexpr (std::is_same_v<T, uint32_t>) {
    if (r_end - r == kTransposeTile && c_end - c == kTransposeTile) {
      for (int64_t i = r; i < r_end; i += 4)
        for (int64_t j = c; j < c_end; j += 4)
          TurnQuad(source + j * plane.source_column_stride + i, plane.source_column_stride,
                   target + i * plane.target_row_stride + j, plane.target_row_stride);
      return;
    }
  }
  for (int64_t i = r; i < r_end; ++i)
    for (int64_t j = c; j < c_end; ++j)
      target[i * plane.target_row_stride + j] = source[j * plane.source_column_stride + i];
}

// De-interleaves pairs; both rows in one loop, so that it becomes vector code.
template <class T>
void SplitPairs(const T* source, T* first, T* second, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    const T a = source[2 * j], b = source[2 * j + 1];
    first[j] = a;
    second[j] = b;
  }
}

template <class T>
void TransposePlane(const Plane& plane, const T* source, T* target, int64_t row_begin, int64_t row_end) {
  if (row_end - row_begin == 2 && plane.source_column_stride == 2) {
    T* const first = target + row_begin * plane.target_row_stride;
    InParts(plane.columns, kTransposePart, [&](int64_t begin, int64_t end) {
      SplitPairs(source + row_begin + 2 * begin, first + begin, first + plane.target_row_stride + begin, end - begin);
    });
    return;
  }
  for (int64_t r = row_begin; r < row_end; r += kTransposeTile) {
    const int64_t r_end = std::min(r + kTransposeTile, row_end);
    InParts(plane.columns, kTransposePart, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c += kTransposeTile)
        TransposeTile(plane, source, target, r, r_end, c, std::min(c + kTransposeTile, end));
    });
  }
}

}  // namespace

void Transpose(std::span<const int64_t> dims, std::span<const int64_t> perm, const void* source, void* target,
               size_t element_bytes, ThreadPool& pool) {
  const SmallDims source_strides = DenseStrides(dims);
  SmallDims target_dims;
  for (const int64_t axis : perm) target_dims.push_back(dims[static_cast<size_t>(axis)]);
  const SmallDims target_strides = DenseStrides(target_dims);
  StridedCopy copy;
  for (size_t d = 0; d < perm.size(); ++d)
    copy.Add(target_dims[d], source_strides[static_cast<size_t>(perm[d])], target_strides[d]);
  for (const int64_t extent : copy.dims)
    if (extent == 0) return;

  const StridedCopy collapsed = Collapse(copy);
  const size_t rank = collapsed.dims.size();
  size_t row = rank;  // the dimension in which the source is contiguous
  for (size_t d = 0; d < rank; ++d)
    if (collapsed.source_strides[d] == 1) row = d;
  if (rank < 2 || row == rank || row == rank - 1) {
    CopyStrided(copy, source, target, element_bytes, pool);
    return;
  }

  const size_t column = rank - 1;
  const Plane plane{collapsed.dims[row], collapsed.dims[column], collapsed.source_strides[column],
                    collapsed.target_strides[row]};
  int64_t planes = 1;
  for (size_t d = 0; d < column; ++d)
    if (d != row) planes *= collapsed.dims[d];
  const int64_t bands = (plane.rows + kTransposeTile - 1) / kTransposeTile;
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    pool.ParallelFor(planes * bands, kGrainElements / (kTransposeTile * plane.columns) + 1,
                     [&](int64_t begin, int64_t end) {
                       // An index that increments like an odometer: divisions would cost more than moving a small
                       // plane.
                       SmallDims index(column, 0);
                       int64_t rest = begin / bands, band = begin % bands, from = 0, to = 0;
                       for (size_t d = column; d-- > 0;) {
                         if (d == row) continue;
                         index[d] = rest % collapsed.dims[d];
                         rest /= collapsed.dims[d];
                         from += index[d] * collapsed.source_strides[d];
                         to += index[d] * collapsed.target_strides[d];
                       }
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t first = band * kTransposeTile;
                         TransposePlane(plane, static_cast<const T*>(source) + from, static_cast<T*>(target) + to,
                                        first, std::min(first + kTransposeTile, plane.rows));
                         if (++band < bands) continue;
                         band = 0;
                         for (size_t d = column; d-- > 0;) {
                           if (d == row) continue;
                           from += collapsed.source_strides[d];
                           to += collapsed.target_strides[d];
                           if (++index[d] < collapsed.dims[d]) break;
                           from -= collapsed.source_strides[d] * collapsed.dims[d];
                           to -= collapsed.target_strides[d] * collapsed.dims[d];
                           index[d] = 0;
                         }
                       }
                     });
  });
}

}  // namespace deputy::host
