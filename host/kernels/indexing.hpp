// Gathers or scatters elements or blocks of a tensor by indices. Untyped; indices are int64 or int32 and may be
// negative, counting from the end. Indices are checked before elements are accessed. Scattering is done by one thread,
// in the order of the updates, so that repeated indices give the same result in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// A list of indices in memory.
struct IndexList {
  const void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kInt64;  // or kInt32

  int64_t operator[](int64_t i) const {
    return dtype == DType::kInt64 ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

Status CheckIndex(int64_t index, int64_t extent, size_t axis);
// kInvalidArgument when an index is outside [-extent, extent - 1]; `axis` is for the message.
Status CheckIndices(const IndexList& indices, int64_t extent, size_t axis);

// For `data` seen as [outer, extent, inner]: target[o, i, :] = data[o, indices[i], :]. The indices have been checked.
struct GatherExtents {
  int64_t outer, extent, inner;
};
void Gather(const GatherExtents& extents, const IndexList& indices, const void* data, void* target,
            size_t element_bytes, ThreadPool& pool);

// target[i0,..,in] = data[i0,..,indices[i0,..,in],..,in], with the index at `axis`. Along other axes the indices'
// extents are not larger than the data's. Checks the indices itself.
Status GatherElements(std::span<const int64_t> data_dims, std::span<const int64_t> index_dims, size_t axis,
                      const IndexList& indices, const void* data, void* target, size_t element_bytes, ThreadPool& pool);

// GatherND: the indices are tuples, [batches..., tuples per batch, tuple]; each names a slice of `data` behind its
// `batch_dims` leading dimensions. Checks the indices itself.
struct GatherTuples {
  size_t batch_dims = 0;
  int64_t batches = 1;  // product of the leading dimensions
  int64_t tuples_per_batch = 1;
  size_t tuple = 1;  // indices in one tuple
};
Status GatherND(std::span<const int64_t> data_dims, const GatherTuples& tuples, const IndexList& indices,
                const void* data, void* target, size_t element_bytes, ThreadPool& pool);

enum class ScatterReduction { kReplace, kAdd, kMul, kMax, kMin };

// target[i0,..,indices[i0,..,in],..,in] takes updates[i0,..,in], with the index at `axis`. Along other axes the
// indices' extents are not larger than the data's. The indices have been checked.
void ScatterElements(std::span<const int64_t> data_dims, std::span<const int64_t> index_dims, size_t axis,
                     const IndexList& indices, const void* updates, void* target, DType dtype,
                     ScatterReduction reduction);

// ScatterND: tuples of `tuple` indices each select a slice of the target. Checks the indices before it writes.
Status ScatterND(std::span<const int64_t> data_dims, size_t tuple, const IndexList& indices, const void* updates,
                 void* target, DType dtype, ScatterReduction reduction);

}  // namespace deputy::host
