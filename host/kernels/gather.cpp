#include "kernels/gather.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kGrainBytes = 64 << 10;

int64_t Resolve(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

// Without branches: nearly always all are.
template <class Index>
bool AllInside(const Index* indices, int64_t count, int64_t extent) {
  uint64_t signs = 0;  // of what should not be negative; sums that wrap had the other one negative
  const uint64_t room = static_cast<uint64_t>(extent);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t index = static_cast<uint64_t>(int64_t{indices[i]});
    signs |= (index + room) | (room - 1 - index);
  }
  return signs >> 63 == 0;
}

// A row of elements: along the axis that is indexed `step` is 0, otherwise 1.
template <class T, class Index>
void GatherRow(const T* from, const Index* indices, int64_t count, int64_t extent, int64_t stride, int64_t step,
               T* to) {
  if (step == 0 && stride == 1) {
    for (int64_t j = 0; j < count; ++j) to[j] = from[Resolve(indices[j], extent)];
  } else if (step == 0) {
    for (int64_t j = 0; j < count; ++j) to[j] = from[Resolve(indices[j], extent) * stride];
  } else {
    for (int64_t j = 0; j < count; ++j) to[j] = from[j + Resolve(indices[j], extent) * stride];
  }
}

}  // namespace

Status CheckIndex(int64_t index, int64_t extent, size_t axis) {
  if (index >= -extent && index < extent) return {};
  if (extent == 0)
    return Error(StatusCode::kInvalidArgument, "index {} is used along axis {}, which has no elements", index, axis);
  return Error(StatusCode::kInvalidArgument, "index {} is outside [{}, {}] along axis {}", index, -extent, extent - 1,
               axis);
}

Status CheckIndices(const IndexList& indices, int64_t extent, size_t axis) {
  const bool right = indices.dtype == DType::kInt32
                         ? AllInside(static_cast<const int32_t*>(indices.data), indices.count, extent)
                         : AllInside(static_cast<const int64_t*>(indices.data), indices.count, extent);
  if (right) return {};
  for (int64_t i = 0; i < indices.count; ++i) DEPUTY_RETURN_IF_ERROR(CheckIndex(indices[i], extent, axis));
  return {};
}

void Gather(const GatherExtents& extents, const IndexList& indices, const void* data, void* target,
            size_t element_bytes, ThreadPool& pool) {
  if (extents.inner == 0) return;
  const int64_t block = extents.inner * static_cast<int64_t>(element_bytes);
  const char* from = static_cast<const char*>(data);
  char* to = static_cast<char*>(target);
  pool.ParallelFor(extents.outer * indices.count, kGrainBytes / block + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / indices.count * extents.extent + Resolve(indices[i % indices.count], extents.extent);
      std::memcpy(to + i * block, from + row * block, static_cast<size_t>(block));
    }
  });
}

void GatherElements(std::span<const int64_t> data_dims, std::span<const int64_t> index_dims, size_t axis,
                    const IndexList& indices, const void* data, void* target, size_t element_bytes, ThreadPool& pool) {
  const size_t last = index_dims.size() - 1;
  const SmallDims strides = DenseStrides(data_dims);
  const int64_t row = index_dims[last];
  if (indices.count == 0) return;
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* from = static_cast<const T*>(data);
    T* to = static_cast<T*>(target);
    pool.ParallelFor(indices.count / row, kGrainBytes / 16 / row + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t base = 0, rest = i;
        for (size_t d = last; d-- > 0;) {
          if (d != axis) base += rest % index_dims[d] * strides[d];
          rest /= index_dims[d];
        }
        const int64_t step = axis == last ? 0 : 1;
        if (indices.dtype == DType::kInt32)
          GatherRow(from + base, static_cast<const int32_t*>(indices.data) + i * row, row, data_dims[axis],
                    strides[axis], step, to + i * row);
        else
          GatherRow(from + base, static_cast<const int64_t*>(indices.data) + i * row, row, data_dims[axis],
                    strides[axis], step, to + i * row);
      }
    });
  });
}

Status GatherND(std::span<const int64_t> data_dims, const GatherTuples& tuples, const IndexList& indices,
                const void* data, void* target, size_t element_bytes, ThreadPool& pool) {
  const int64_t tuple = static_cast<int64_t>(tuples.tuple);
  for (int64_t i = 0; i < indices.count; ++i) {
    const size_t axis = tuples.batch_dims + static_cast<size_t>(i % tuple);
    DEPUTY_RETURN_IF_ERROR(CheckIndex(indices[i], data_dims[axis], axis));
  }
  const SmallDims strides = DenseStrides(data_dims);
  const size_t after = tuples.batch_dims + tuples.tuple;
  int64_t slice = 1, batch = 1;
  for (size_t d = after; d < data_dims.size(); ++d) slice *= data_dims[d];
  for (size_t d = tuples.batch_dims; d < data_dims.size(); ++d) batch *= data_dims[d];
  if (slice == 0) return {};
  const int64_t block = slice * static_cast<int64_t>(element_bytes);
  const char* from = static_cast<const char*>(data);
  char* to = static_cast<char*>(target);
  pool.ParallelFor(tuples.batches * tuples.tuples_per_batch, kGrainBytes / block + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t offset = i / tuples.tuples_per_batch * batch;
      for (size_t t = 0; t < tuples.tuple; ++t) {
        const size_t axis = tuples.batch_dims + t;
        offset += Resolve(indices[i * tuple + static_cast<int64_t>(t)], data_dims[axis]) * strides[axis];
      }
      std::memcpy(to + i * block, from + offset * static_cast<int64_t>(element_bytes), static_cast<size_t>(block));
    }
  });
  return {};
}

}  // namespace deputy::host
