// Writes elements or slices into a tensor at given indices, replacing the old elements or combining with them. On one
// thread, in the order of the updates, so that repeated indices give the same result in every run.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/gather.hpp"

namespace deputy::host {

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
