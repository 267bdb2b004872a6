// The k largest or smallest elements of each lane of a tensor, in order.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// The data is [outer, extent, inner]; the lanes are along the middle. Values and positions are [outer, k, inner]. Equal
// elements are in the order of their positions; NaN is larger than every number.
struct TopKExtents {
  int64_t outer, extent, inner, k;
};
// `order` is working memory for outer·extent·inner numbers. False for a dtype without an order.
bool TopK(const TopKExtents& extents, bool largest, DType dtype, const void* data, void* values, int64_t* positions,
          int64_t* order, ThreadPool& pool);

}  // namespace deputy::host
