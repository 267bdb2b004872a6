// Reductions, the k largest or smallest elements, softmax, cumulative sums and products along axes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"
#include "kernels/broadcast.hpp"

namespace deputy::host {

enum class ReduceOp : uint8_t { kL1, kL2, kLogSum, kLogSumExp, kMax, kMean, kMin, kProd, kSum, kSumSquare };

// Neighbouring axes of one kind are merged. Strides are in elements of the source.
struct ReducePlan {
  struct Axes {
    size_t rank = 0;
    int64_t count = 1;
    std::array<int64_t, kMaxBroadcastRank> dims, strides;
  };
  Axes kept, reduced;
  bool inner_is_reduced = true;  // otherwise the innermost axis is kept
};

// `reduce` has one entry per axis, not zero if it is reduced.
Result<ReducePlan> PlanReduce(std::span<const int64_t> dims, std::span<const uint8_t> reduce);

// For compute types (ComputeType of dispatch.hpp): float32, float64 and integers of 32 and 64 bits; kMax and kMin
// support all integers and bool.
bool SupportsReduce(ReduceOp op, DType dtype);

// Floating point sums are accumulated in double; integers wrap, and their means, norms and logarithms are truncated.
// Over no elements: sums and norms 0, products 1, maxima the lowest value, minima the highest, floating means NaN.
// NaN makes a maximum or minimum NaN. False, with nothing written, when not supported.
bool Reduce(ReduceOp op, DType dtype, const ReducePlan& plan, const void* source, void* target, ThreadPool& pool);

// A tensor with one of its axes in the middle: [outer, axis, inner].
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};
AxisView ViewAlong(std::span<const int64_t> dims, size_t axis);

// Index along the axis of the largest (smallest) element, for each outer and inner; the first of equals, or the last.
// NaN is both largest and smallest. Fails for an axis without elements, unless there are no results. Types as kMax of
// Reduce except bool; kNotSupported for others.
Status ArgReduce(bool largest, bool last_of_equals, DType dtype, const AxisView& view, const void* source,
                 int64_t* target, ThreadPool& pool);

// The data is [outer, extent, inner]; the lanes are along the middle. Values and positions are [outer, k, inner]. Equal
// elements are in the order of their positions; NaN is larger than every number.
struct TopKExtents {
  int64_t outer, extent, inner, k;
};
// `order` is working memory for outer·extent·inner numbers. False for a dtype without an order.
bool TopK(const TopKExtents& extents, bool largest, DType dtype, const void* data, void* values, int64_t* positions,
          int64_t* order, ThreadPool& pool);

enum class SoftmaxOp : uint8_t { kSoftmax, kLogSoftmax, kHardmax };

// float32 and float64; false, with nothing written, for others. Source and target may be the same memory.
bool Softmax(SoftmaxOp op, DType dtype, const AxisView& view, const void* source, void* target, ThreadPool& pool);

enum class CumulativeOp : uint8_t { kSum, kProduct };

// Sums or products of all elements up to (exclusive: before) each one along the axis, from the end when `reverse`.
// Floats and integers of 32 and 64 bits; integers wrap. Source and target may not overlap.
bool Cumulate(CumulativeOp op, DType dtype, const AxisView& view, bool exclusive, bool reverse, const void* source,
              void* target, ThreadPool& pool);

}  // namespace deputy::host
