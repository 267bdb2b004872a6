#include "kernels/scatter.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {
namespace {

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

// Neighbouring elements. Sums are by far the most frequent, and become vector code without a branch per element.
template <class T>
void CombineSlice(ScatterReduction reduction, const T* from, int64_t count, T* to) {
  if (reduction == ScatterReduction::kReplace) {
    std::copy_n(from, count, to);
  } else if (reduction == ScatterReduction::kAdd) {
    for (int64_t j = 0; j < count; ++j) to[j] = Combine(ScatterReduction::kAdd, to[j], from[j]);
  } else {
    for (int64_t j = 0; j < count; ++j) to[j] = Combine(reduction, to[j], from[j]);
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

int64_t Resolve(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

}  // namespace

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
    for (int64_t i = 0; i < indices.count / row; ++i) {
      int64_t base = 0, rest = i;
      for (size_t d = last; d-- > 0;) {
        if (d != axis) base += rest % index_dims[d] * strides[d];
        rest /= index_dims[d];
      }
      const T* from = static_cast<const T*>(updates) + i * row;
      T* to = static_cast<T*>(target) + base;
      if (indices.dtype == DType::kInt32)
        ScatterRow(reduction, from, static_cast<const int32_t*>(indices.data) + i * row, row, data_dims[axis],
                   strides[axis], step, to);
      else
        ScatterRow(reduction, from, static_cast<const int64_t*>(indices.data) + i * row, row, data_dims[axis],
                   strides[axis], step, to);
    }
  });
}

Status ScatterND(std::span<const int64_t> data_dims, size_t tuple, const IndexList& indices, const void* updates,
                 void* target, DType dtype, ScatterReduction reduction) {
  const int64_t width = static_cast<int64_t>(tuple);
  for (size_t axis = 0; axis < tuple; ++axis)
    for (int64_t i = static_cast<int64_t>(axis); i < indices.count; i += width)
      DEPUTY_RETURN_IF_ERROR(CheckIndex(indices[i], data_dims[axis], axis));
  NumbersForTruth(dtype, reduction);
  const SmallDims strides = DenseStrides(data_dims);
  int64_t slice = 1;
  for (size_t d = tuple; d < data_dims.size(); ++d) slice *= data_dims[d];
  DispatchStored(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* from = static_cast<const T*>(updates);
    T* to = static_cast<T*>(target);
    for (int64_t i = 0; i < indices.count / width; ++i) {
      int64_t offset = 0;
      for (size_t d = 0; d < tuple; ++d)
        offset += Resolve(indices[i * width + static_cast<int64_t>(d)], data_dims[d]) * strides[d];
      CombineSlice(reduction, from + i * slice, slice, to + offset);
    }
  });
  return {};
}

}  // namespace deputy::host
