// Limiting elements to a range.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// target = min(max(source, low), high); NaN is kept. `low` and `high` point to one element of the dtype or are null for
// no bound. Where low > high every result is high. Source and target may be the same memory. False for a dtype that is
// not numeric.
bool Clip(DType dtype, const void* source, const void* low, const void* high, void* target, int64_t count,
          ThreadPool& pool);

}  // namespace deputy::host
