// Where the innermost dimension moves, reading along it and writing along the new one both jump. The two are then
// walked in square tiles, so that each cache line that is fetched is also used up.
#include "kernels/transpose.hpp"

#include <algorithm>

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kTile = 16;
constexpr int64_t kGrainElements = 16 << 10;

// A matrix: `rows` follow the source's innermost dimension (source stride 1), columns the target's (target stride 1).
struct Plane {
  int64_t rows, columns, source_column_stride, target_row_stride;
};

template <class T>
void TransposePlane(const Plane& plane, const T* source, T* target, int64_t row_begin, int64_t row_end) {
  for (int64_t r = row_begin; r < row_end; r += kTile) {
    const int64_t r_end = std::min(r + kTile, row_end);
    for (int64_t c = 0; c < plane.columns; c += kTile) {
      const int64_t c_end = std::min(c + kTile, plane.columns);
      for (int64_t i = r; i < r_end; ++i)
        for (int64_t j = c; j < c_end; ++j)
          target[i * plane.target_row_stride + j] = source[j * plane.source_column_stride + i];
    }
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
  const int64_t bands = (plane.rows + kTile - 1) / kTile;
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    pool.ParallelFor(planes * bands, kGrainElements / (kTile * plane.columns) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t rest = i / bands, from = 0, to = 0;
        for (size_t d = column; d-- > 0;) {
          if (d == row) continue;
          from += rest % collapsed.dims[d] * collapsed.source_strides[d];
          to += rest % collapsed.dims[d] * collapsed.target_strides[d];
          rest /= collapsed.dims[d];
        }
        const int64_t first = i % bands * kTile;
        TransposePlane(plane, static_cast<const T*>(source) + from, static_cast<T*>(target) + to, first,
                       std::min(first + kTile, plane.rows));
      }
    });
  });
}

}  // namespace deputy::host
