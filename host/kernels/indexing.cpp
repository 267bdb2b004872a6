#include "kernels/indexing.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "base/cancellation.hpp"
#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"
#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

int64_t Resolve(int64_t index, int64_t extent) { return index + (index >> 63 & extent); }

// Without branches, since nearly always all indices are in range.
template <class Index>
bool AllInside(const Index* indices, int64_t count, int64_t extent) {
  uint64_t signs = 0;  // sign bits of values that should not be negative; a sum that wraps had a negative operand
  const uint64_t room = static_cast<uint64_t>(extent);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t index = static_cast<uint64_t>(int64_t{indices[i]});
    signs |= (index + room) | (room - 1 - index);
  }
  return signs >> 63 == 0;
}

// to[j] = from[place(index j, j)] for a row of indices. False for an index out of range.
template <class T, class Index, class Place>
bool GatherRow(const T* from, const Index* indices, int64_t count, int64_t extent, T* to, Place place) {
  for (int64_t j = 0; j < count; ++j) {
    const int64_t index = Resolve(indices[j], extent);
    if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(extent)) return false;
    to[j] = from[place(index, j)];
  }
  return true;
}

// `step` is 0 along the indexed axis, otherwise 1.
template <class T, class Index>
bool GatherRow(const T* from, const Index* indices, int64_t count, int64_t extent, int64_t stride, int64_t step,
               T* to) {
  if (step == 1)
    return GatherRow(from, indices, count, extent, to, [stride](int64_t i, int64_t j) { return i * stride + j; });
  if (stride == 1) return GatherRow(from, indices, count, extent, to, [](int64_t i, int64_t) { return i; });
  return GatherRow(from, indices, count, extent, to, [stride](int64_t i, int64_t) { return i * stride; });
}

// NaN on either side is the result, as in NumPy.
template <class T>
T Larger(T a, T b) {
  return b > a || b != b ? b : a;
}
template <class T>
T Smaller(T a, T b) {
  return b < a || b != b ? b : a;
}

template <class T>
T Combine(ScatterReduction reduction, T old, T update) {
  if constexpr (std::is_same_v<T, Half>) {
    return reduction == ScatterReduction::kReplace ? update : ToHalf(Combine(reduction, ToFloat(old), ToFloat(update)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return reduction == ScatterReduction::kReplace ? update
                                                   : ToBFloat16(Combine(reduction, ToFloat(old), ToFloat(update)));
  } else {
    // Integers wrap around: computed as unsigned, which is defined.
    using Wide = typename std::conditional_t<std::is_integral_v<T>, TypeTag<uint64_t>, TypeTag<T>>::Type;
    switch (reduction) {
      case ScatterReduction::kReplace: return update;
      case ScatterReduction::kAdd: return static_cast<T>(static_cast<Wide>(old) + static_cast<Wide>(update));
      case ScatterReduction::kMul: return static_cast<T>(static_cast<Wide>(old) * static_cast<Wide>(update));
      case ScatterReduction::kMax: return Larger(old, update);
      case ScatterReduction::kMin: return Smaller(old, update);
    }
    return update;
  }
}

// Bools may be bytes other than 0 and 1: they are combined as numbers, "or" as the maximum.
void NumbersForTruth(DType& dtype, ScatterReduction& reduction) {
  if (dtype != DType::kBool) return;
  dtype = DType::kUint8;
  if (reduction == ScatterReduction::kAdd) reduction = ScatterReduction::kMax;
  if (reduction == ScatterReduction::kMul) reduction = ScatterReduction::kMin;
}

// Neighbouring elements, except for kReplace. Sums are by far the most frequent, and become vector code without a
// branch per element.
template <class T>
void CombineSlice(ScatterReduction reduction, const void* updates, int64_t count, void* target) {
  const T* from = static_cast<const T*>(updates);
  T* to = static_cast<T*>(target);
  if (reduction == ScatterReduction::kAdd) {
    InPartsOf(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) to[j] = Combine(ScatterReduction::kAdd, to[j], from[j]);
    });
  } else {
    InPartsOf(count, 2, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) to[j] = Combine(reduction, to[j], from[j]);
    });
  }
}

// A row of updates: `step` is 0 along the indexed axis, otherwise 1.
template <class T, class Index>
void ScatterRow(ScatterReduction reduction, const T* from, const Index* indices, int64_t count, int64_t extent,
                int64_t stride, int64_t step, T* to) {
  const auto at = [=](int64_t j) {
    const int64_t index = indices[j];
    return j * step + (index < 0 ? index + extent : index) * stride;
  };
  if (reduction == ScatterReduction::kReplace) {
    for (int64_t j = 0; j < count; ++j) to[at(j)] = from[j];
  } else {
    for (int64_t j = 0; j < count; ++j) to[at(j)] = Combine(reduction, to[at(j)], from[j]);
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
  bool right = true;
  InParts(indices.count, kLongRow, [&](int64_t begin, int64_t end) {
    right = right && (indices.dtype == DType::kInt32
                          ? AllInside(static_cast<const int32_t*>(indices.data) + begin, end - begin, extent)
                          : AllInside(static_cast<const int64_t*>(indices.data) + begin, end - begin, extent));
  });
  // Where the run ends first, some may be wrong: nothing may be read by them.
  DEPUTY_RETURN_IF_ERROR(CheckComplete());
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
      CopyInParts(to + i * block, from + row * block, static_cast<size_t>(block));
    }
  });
}

// Elements of a row between two checks whether the run ends.
constexpr int64_t kGatherPart = 1 << 20;

Status GatherElements(std::span<const int64_t> data_dims, std::span<const int64_t> index_dims, size_t axis,
                      const IndexList& indices, const void* data, void* target, size_t element_bytes,
                      ThreadPool& pool) {
  const size_t last = index_dims.size() - 1;
  const SmallDims strides = DenseStrides(data_dims);
  const int64_t row = index_dims[last], extent = data_dims[axis], step = axis == last ? 0 : 1;
  if (indices.count == 0) return {};
  std::atomic<bool> outside{false};
  const auto gather = [&](auto* from, const auto* positions, auto* to) {
    pool.ParallelFor(indices.count / row, kGrainBytes / 16 / row + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t base = 0, rest = i;
        for (size_t d = last; d-- > 0;) {
          if (d != axis) base += rest % index_dims[d] * strides[d];
          rest /= index_dims[d];
        }
        InParts(row, kGatherPart, [&](int64_t from_place, int64_t to_place) {
          const int64_t at = i * row + from_place;
          if (!GatherRow(from + base + from_place * step, positions + at, to_place - from_place, extent, strides[axis],
                         step, to + at))
            outside.store(true, std::memory_order_relaxed);
        });
        if (outside.load(std::memory_order_relaxed)) return;
      }
    });
  };
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (indices.dtype == DType::kInt32)
      gather(static_cast<const T*>(data), static_cast<const int32_t*>(indices.data), static_cast<T*>(target));
    else
      gather(static_cast<const T*>(data), static_cast<const int64_t*>(indices.data), static_cast<T*>(target));
  });
  return outside.load() ? CheckIndices(indices, extent, axis) : Status();
}

Status GatherND(std::span<const int64_t> data_dims, const GatherTuples& tuples, const IndexList& indices,
                const void* data, void* target, size_t element_bytes, ThreadPool& pool) {
  const SmallDims strides = DenseStrides(data_dims);
  const size_t after = tuples.batch_dims + tuples.tuple;
  int64_t slice = 1, batch = 1;
  for (size_t d = after; d < data_dims.size(); ++d) slice *= data_dims[d];
  for (size_t d = tuples.batch_dims; d < data_dims.size(); ++d) batch *= data_dims[d];
  const int64_t tuple = static_cast<int64_t>(tuples.tuple), block = slice * static_cast<int64_t>(element_bytes);
  const char* from = static_cast<const char*>(data);
  char* to = static_cast<char*>(target);
  std::atomic<bool> outside{false};
  const auto gather = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t offset = i / tuples.tuples_per_batch * batch;
      for (size_t t = 0; t < tuples.tuple; ++t) {
        const size_t axis = tuples.batch_dims + t;
        const int64_t index = Resolve(indices[i * tuple + static_cast<int64_t>(t)], data_dims[axis]);
        if (index < 0 || index >= data_dims[axis]) {
          outside.store(true, std::memory_order_relaxed);
          return;
        }
        offset += index * strides[axis];
      }
      if (block != 0)
        CopyInParts(to + i * block, from + offset * static_cast<int64_t>(element_bytes), static_cast<size_t>(block));
    }
  };
  pool.ParallelFor(tuples.batches * tuples.tuples_per_batch, kGrainBytes / std::max<int64_t>(block, 16) + 1, gather);
  if (!outside.load()) return {};
  for (int64_t i = 0; i < indices.count; ++i) {
    const size_t axis = tuples.batch_dims + static_cast<size_t>(i % tuple);
    DEPUTY_RETURN_IF_ERROR(CheckIndex(indices[i], data_dims[axis], axis));
  }
  return {};
}

// Elements after which a scatter, which is one loop, looks whether the run has ended. Its indices have all been
// checked.
constexpr int64_t kScatterPart = 1 << 18;

void ScatterElements(std::span<const int64_t> data_dims, std::span<const int64_t> index_dims, size_t axis,
                     const IndexList& indices, const void* updates, void* target, DType dtype,
                     ScatterReduction reduction) {
  NumbersForTruth(dtype, reduction);
  if (indices.count == 0) return;
  const SmallDims strides = DenseStrides(data_dims);
  const size_t last = index_dims.size() - 1;
  const int64_t row = index_dims[last], step = axis == last ? 0 : 1;
  DispatchStored(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto scatter_row = [&](int64_t i) {
      int64_t base = 0, rest = i;
      for (size_t d = last; d-- > 0;) {
        if (d != axis) base += rest % index_dims[d] * strides[d];
        rest /= index_dims[d];
      }
      InParts(row, kScatterPart, [&](int64_t begin, int64_t end) {
        const int64_t first = i * row + begin;
        const T* from = static_cast<const T*>(updates) + first;
        T* to = static_cast<T*>(target) + base + begin * step;
        if (indices.dtype == DType::kInt32)
          ScatterRow(reduction, from, static_cast<const int32_t*>(indices.data) + first, end - begin, data_dims[axis],
                     strides[axis], step, to);
        else
          ScatterRow(reduction, from, static_cast<const int64_t*>(indices.data) + first, end - begin, data_dims[axis],
                     strides[axis], step, to);
      });
    };
    InParts(indices.count / row, std::max<int64_t>(1, kScatterPart / row), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) scatter_row(i);
    });
  });
}

Status ScatterND(std::span<const int64_t> data_dims, size_t tuple, const IndexList& indices, const void* updates,
                 void* target, DType dtype, ScatterReduction reduction) {
  const int64_t width = static_cast<int64_t>(tuple);
  constexpr int64_t kStepsOfIndex = 8;
  EndCheck check;
  for (size_t axis = 0; axis < tuple; ++axis)
    for (int64_t i = static_cast<int64_t>(axis); i < indices.count && !check.Ends(kStepsOfIndex); i += width)
      DEPUTY_RETURN_IF_ERROR(CheckIndex(indices[i], data_dims[axis], axis));
  DEPUTY_RETURN_IF_ERROR(CheckComplete());
  NumbersForTruth(dtype, reduction);
  const SmallDims strides = DenseStrides(data_dims);
  int64_t slice = 1;
  for (size_t d = tuple; d < data_dims.size(); ++d) slice *= data_dims[d];
  void (*combine)(ScatterReduction, const void*, int64_t, void*) = nullptr;
  if (!DispatchStored(dtype, [&](auto tag) { combine = CombineSlice<typename decltype(tag)::Type>; })) return {};
  const size_t element = SizeOf(dtype);
  const size_t slice_bytes = static_cast<size_t>(slice) * element;
  InParts(indices.count / width, std::max<int64_t>(1, kScatterPart / std::max<int64_t>(1, slice)),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              int64_t offset = 0;
              for (size_t d = 0; d < tuple; ++d)
                offset += Resolve(indices[i * width + static_cast<int64_t>(d)], data_dims[d]) * strides[d];
              const char* from = static_cast<const char*>(updates) + static_cast<size_t>(i) * slice_bytes;
              char* to = static_cast<char*>(target) + static_cast<size_t>(offset) * element;
              if (reduction == ScatterReduction::kReplace)
                CopyInParts(to, from, slice_bytes);
              else
                combine(reduction, from, slice, to);
            }
          });
  return {};
}

}  // namespace deputy::host
