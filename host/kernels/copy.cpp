#include "kernels/copy.hpp"

#include <algorithm>
#include <cstring>

#include "base/cancellation.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"

namespace deputy::host {
namespace {

// One run along the innermost dimension.
template <class T>
void CopyRow(const T* source, int64_t source_stride, T* target, int64_t target_stride, int64_t count) {
  if (target_stride == 1 && source_stride == 1) {
    std::memcpy(target, source, static_cast<size_t>(count) * sizeof(T));
  } else if (target_stride == 1 && source_stride == 0) {
    std::fill_n(target, count, *source);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i * target_stride] = source[i * source_stride];
  }
}

// Visits the rows [begin, end) of a collapsed copy; the last dimension is the row. Increments an index like an
// odometer, so that only the first row costs divisions.
template <class T>
void CopyRows(const StridedCopy& copy, const T* source, T* target, int64_t begin, int64_t end) {
  const size_t outer = copy.dims.size() - 1;
  SmallDims index(outer, 0);
  int64_t from = 0, to = 0, rest = begin;
  for (size_t d = outer; d-- > 0;) {
    index[d] = rest % copy.dims[d];
    rest /= copy.dims[d];
    from += index[d] * copy.source_strides[d];
    to += index[d] * copy.target_strides[d];
  }
  for (int64_t row = begin; row < end; ++row) {
    const int64_t source_step = copy.source_strides[outer], target_step = copy.target_strides[outer];
    InParts(copy.dims[outer], kLongCopy / static_cast<int64_t>(sizeof(T)), [&](int64_t first, int64_t last) {
      CopyRow(source + from + first * source_step, source_step, target + to + first * target_step, target_step,
              last - first);
    });
    for (size_t d = outer; d-- > 0;) {
      from += copy.source_strides[d];
      to += copy.target_strides[d];
      if (++index[d] < copy.dims[d]) break;
      from -= copy.source_strides[d] * copy.dims[d];
      to -= copy.target_strides[d] * copy.dims[d];
      index[d] = 0;
    }
  }
}

}  // namespace

SmallDims DenseStrides(std::span<const int64_t> dims) {
  SmallDims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

StridedCopy Collapse(const StridedCopy& copy) {
  StridedCopy collapsed;
  for (size_t d = 0; d < copy.dims.size(); ++d) {
    const int64_t extent = copy.dims[d], source = copy.source_strides[d], target = copy.target_strides[d];
    if (extent == 1) continue;
    const size_t last = collapsed.dims.size() - 1;
    if (!collapsed.dims.empty() && collapsed.source_strides[last] == source * extent &&
        collapsed.target_strides[last] == target * extent) {
      collapsed.dims[last] *= extent;
      collapsed.source_strides[last] = source;
      collapsed.target_strides[last] = target;
    } else {
      collapsed.Add(extent, source, target);
    }
  }
  return collapsed;
}

void CopyStrided(const StridedCopy& copy, const void* source, void* target, size_t element_bytes, ThreadPool& pool) {
  for (const int64_t extent : copy.dims)
    if (extent == 0) return;
  StridedCopy rows = Collapse(copy);
  if (rows.dims.empty()) rows.Add(1, 1, 1);
  const size_t last = rows.dims.size() - 1;
  if (last == 0 && rows.source_strides[0] == 1 && rows.target_strides[0] == 1) {
    CopyBytes(source, target, static_cast<size_t>(rows.dims[0]) * element_bytes, pool);
    return;
  }
  int64_t count = 1;
  for (size_t d = 0; d < last; ++d) count *= rows.dims[d];
  const int64_t row_bytes = rows.dims[last] * static_cast<int64_t>(element_bytes);
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* from = static_cast<const T*>(source);
    T* to = static_cast<T*>(target);
    pool.ParallelFor(count, kGrainBytes / row_bytes + 1,
                     [&](int64_t begin, int64_t end) { CopyRows(rows, from, to, begin, end); });
  });
}

void CopyBytes(const void* source, void* target, size_t bytes, ThreadPool& pool) {
  const char* from = static_cast<const char*>(source);
  char* to = static_cast<char*>(target);
  if (from == to) return;
  pool.ParallelFor(static_cast<int64_t>(bytes), 4 * kGrainBytes, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

void FillZero(void* target, size_t bytes, ThreadPool& pool) {
  const char zero = 0;
  Fill(&zero, target, static_cast<int64_t>(bytes), 1, pool);
}

void Fill(const void* value, void* target, int64_t count, size_t element_bytes, ThreadPool& pool) {
  DispatchSize(element_bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T element;
    std::memcpy(&element, value, sizeof element);
    T* to = static_cast<T*>(target);
    // Mostly zeros: the library has the fastest way to write equal bytes.
    const unsigned char byte = static_cast<unsigned char>(element & 0xff);
    T repeated;
    std::memset(&repeated, byte, sizeof repeated);
    pool.ParallelFor(count, 4 * kGrainBytes / static_cast<int64_t>(sizeof(T)), [&](int64_t begin, int64_t end) {
      if (element == repeated)
        std::memset(to + begin, byte, static_cast<size_t>(end - begin) * sizeof(T));
      else
        std::fill(to + begin, to + end, element);
    });
  });
}

}  // namespace deputy::host
