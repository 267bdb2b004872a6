// Copies between two strided layouts of the same extents, used by Slice, Concat, Split, Pad, Expand, Tile and
// Transpose. Untyped: elements are 1, 2, 4 or 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {

// The mapping of elements: target[Σ i·target_strides] = source[Σ i·source_strides] for every index i below dims.
// Strides count elements. Source strides may be zero (the element is repeated) or negative.
struct StridedCopy {
  SmallDims dims, source_strides, target_strides;

  void Add(int64_t extent, int64_t source_stride, int64_t target_stride) {
    dims.push_back(extent);
    source_strides.push_back(source_stride);
    target_strides.push_back(target_stride);
  }
};

// Strides of a dense row-major tensor.
SmallDims DenseStrides(std::span<const int64_t> dims);

// The same copy with as few dimensions as possible: extents of 1 are removed, neighbours that are contiguous on both
// sides merged.
StridedCopy Collapse(const StridedCopy& copy);

// `source` and `target` point to the element with index zero; all elements within the strides must be in memory. Target
// elements must not coincide.
void CopyStrided(const StridedCopy& copy, const void* source, void* target, size_t element_bytes, ThreadPool& pool);

// One contiguous copy of `bytes` bytes, by several threads if it is large.
void CopyBytes(const void* source, void* target, size_t bytes, ThreadPool& pool);

// Writes zeros.
void FillZero(void* target, size_t bytes, ThreadPool& pool);

// Writes `count` copies of the element at `value`.
void Fill(const void* value, void* target, int64_t count, size_t element_bytes, ThreadPool& pool);

// Dimension d of the target is the source's dimension perm[d]. `dims` are the source's extents, `perm` is a permutation
// of [0, dims.size()). Elements are 1, 2, 4 or 8 bytes.
void Transpose(std::span<const int64_t> dims, std::span<const int64_t> perm, const void* source, void* target,
               size_t element_bytes, ThreadPool& pool);

// Padding with a dense tensor's own elements; padding with a constant is a fill and a strided copy. The input position
// for every output position along an axis: reflected, repeated at the edge or wrapped. The input is the part [first,
// first + kept) of its axis, kept > 0; position 0 of the output is `before` elements in front of it.
enum class PadSource { kReflect, kEdge, kWrap };
void MapPadding(PadSource source, int64_t before, int64_t first, int64_t kept, std::span<int64_t> map);

// target[i0,..] = source[maps[0][i0],..]. `maps` holds the maps of all dimensions one after the other, each of the
// length of its target dimension.
void PadByMaps(std::span<const int64_t> source_dims, std::span<const int64_t> target_dims, const int64_t* maps,
               const void* source, void* target, size_t element_bytes, ThreadPool& pool);

}  // namespace deputy::host
