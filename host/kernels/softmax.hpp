// Softmax and cumulative sums along one axis.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"
#include "kernels/reduce.hpp"

namespace deputy::host {

enum class SoftmaxOp : uint8_t { kSoftmax, kLogSoftmax, kHardmax };

// float32 and float64; false, with nothing written, for others. Source and target may be the same memory.
bool Softmax(SoftmaxOp op, DType dtype, const AxisView& view, const void* source, void* target, ThreadPool& pool);

// Sums of all elements up to (exclusive: before) each one along the axis, from the end when `reverse`. Floats and
// integers of 32 and 64 bits; integers wrap. Source and target may not overlap.
bool CumulativeSum(DType dtype, const AxisView& view, bool exclusive, bool reverse, const void* source, void* target,
                   ThreadPool& pool);

}  // namespace deputy::host
