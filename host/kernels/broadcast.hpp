// Numpy broadcasting as an iteration over runs: axes along which all operands have compatible strides are merged, so
// that the innermost loop is long and every operand in it has step 1 or 0.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

// Whether numpy broadcasting of a and b gives c.
inline bool BroadcastGives(std::span<const int64_t> a, std::span<const int64_t> b, std::span<const int64_t> c) {
  if (c.size() != std::max(a.size(), b.size())) return false;
  for (size_t i = 1; i <= c.size(); ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
    if ((x != y && x != 1 && y != 1) || c[c.size() - i] != (x == 1 ? y : x)) return false;
  }
  return true;
}

inline constexpr size_t kMaxBroadcastRank = 32;

// Dense operands against a dense output; strides are in elements. No memory is allocated.
template <size_t kOperands>
struct BroadcastPlan {
  size_t rank = 0;    // after merging; 0 for a single element
  int64_t count = 1;  // elements of the output
  std::array<int64_t, kMaxBroadcastRank> dims;
  std::array<std::array<int64_t, kMaxBroadcastRank>, kOperands> strides;

  BroadcastPlan() = default;
  // Copies the axes that there are: all of the arrays would take longer than a small kernel.
  BroadcastPlan(const BroadcastPlan& other) : rank(other.rank), count(other.count) {
    for (size_t axis = 0; axis < rank; ++axis) {
      dims[axis] = other.dims[axis];
      for (size_t k = 0; k < kOperands; ++k) strides[k][axis] = other.strides[k][axis];
    }
  }
  BroadcastPlan& operator=(const BroadcastPlan&) = delete;

  int64_t inner() const { return rank == 0 ? 1 : dims[rank - 1]; }
  int64_t inner_stride(size_t operand) const { return rank == 0 ? 0 : strides[operand][rank - 1]; }
  // True when the operand has the layout of the output.
  bool is_dense(size_t operand) const { return rank <= 1 && (count == 1 || inner_stride(operand) == 1); }
};

// Fails when an operand does not broadcast to `output`.
template <size_t kOperands>
Result<BroadcastPlan<kOperands>> PlanBroadcast(const std::array<std::span<const int64_t>, kOperands>& operands,
                                               std::span<const int64_t> output) {
  BroadcastPlan<kOperands> plan;
  plan.count = ElementCount(output);
  std::array<int64_t, kOperands> step;  // elements of the operand inside the current axis
  step.fill(1);
  for (const std::span<const int64_t> operand : operands)
    if (operand.size() > output.size())
      return Error(StatusCode::kInvalidArgument, "shape {} does not broadcast to {}", ShapeToString(operand),
                   ShapeToString(output));
  // From the innermost axis outwards; reversed at the end.
  for (size_t back = 0; back < output.size(); ++back) {
    const int64_t extent = output[output.size() - 1 - back];
    std::array<int64_t, kOperands> stride;
    for (size_t k = 0; k < kOperands; ++k) {
      const int64_t own = back < operands[k].size() ? operands[k][operands[k].size() - 1 - back] : 1;
      if (own != extent && own != 1)
        return Error(StatusCode::kInvalidArgument, "shape {} does not broadcast to {}", ShapeToString(operands[k]),
                     ShapeToString(output));
      stride[k] = own == 1 ? 0 : step[k];
      step[k] *= own;
    }
    if (extent == 1) continue;
    bool merge = plan.rank != 0;
    for (size_t k = 0; merge && k < kOperands; ++k) {
      const int64_t inside = plan.strides[k][plan.rank - 1];
      merge = stride[k] == inside * plan.dims[plan.rank - 1] && (stride[k] != 0) == (inside != 0);
    }
    if (merge) {
      plan.dims[plan.rank - 1] *= extent;
      continue;
    }
    if (plan.rank == kMaxBroadcastRank)
      return Error(StatusCode::kNotSupported, "more than {} axes are not supported", kMaxBroadcastRank);
    plan.dims[plan.rank] = extent;
    for (size_t k = 0; k < kOperands; ++k) plan.strides[k][plan.rank] = stride[k];
    ++plan.rank;
  }
  std::reverse(plan.dims.begin(), plan.dims.begin() + static_cast<ptrdiff_t>(plan.rank));
  for (std::array<int64_t, kMaxBroadcastRank>& strides : plan.strides)
    std::reverse(strides.begin(), strides.begin() + static_cast<ptrdiff_t>(plan.rank));
  return plan;
}

// Calls fn(offset in the output, offsets in the operands, elements) for the runs that cover output elements
// [begin, end). Within a run operand k advances by plan.inner_stride(k).
template <size_t kOperands, class F>
void ForEachRun(const BroadcastPlan<kOperands>& plan, int64_t begin, int64_t end, F&& fn) {
  if (begin >= end) return;
  std::array<int64_t, kOperands> offsets{};
  if (plan.rank == 0) {
    fn(begin, offsets, end - begin);
    return;
  }
  const size_t last = plan.rank - 1;
  std::array<int64_t, kMaxBroadcastRank> index;
  int64_t rest = begin;
  for (size_t axis = plan.rank; axis-- > 0;) {
    index[axis] = rest % plan.dims[axis];
    rest /= plan.dims[axis];
    for (size_t k = 0; k < kOperands; ++k) offsets[k] += index[axis] * plan.strides[k][axis];
  }
  for (int64_t at = begin; at < end;) {
    const int64_t run = std::min(plan.dims[last] - index[last], end - at);
    fn(at, static_cast<const std::array<int64_t, kOperands>&>(offsets), run);
    at += run;
    if (at >= end) return;
    // The run ended at the end of the innermost axis: back to its begin and one step along the outer axes.
    for (size_t k = 0; k < kOperands; ++k) offsets[k] -= index[last] * plan.strides[k][last];
    index[last] = 0;
    for (size_t axis = last; axis-- > 0;) {
      for (size_t k = 0; k < kOperands; ++k) offsets[k] += plan.strides[k][axis];
      if (++index[axis] < plan.dims[axis]) break;
      for (size_t k = 0; k < kOperands; ++k) offsets[k] -= index[axis] * plan.strides[k][axis];
      index[axis] = 0;
    }
  }
}

}  // namespace deputy::host
