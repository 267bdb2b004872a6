// Conversion between element types. Kernels also widen 16-bit floats with it, block by block through a ConvertFunction.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// Converts `count` elements; source and target do not overlap.
using ConvertFunction = void (*)(const void* source, void* target, int64_t count);

// Null for string and undefined. A float becomes an integer by truncation; NaN gives 0 and values out of range the
// nearest integer of the type. Integers keep their low bits. Bool is 0 or 1; every value but zero is true. Floats round
// to nearest even.
ConvertFunction FindConvert(DType source, DType target);

// The same on the thread pool. False for a dtype without conversion.
bool Cast(DType source_type, const void* source, DType target_type, void* target, int64_t count, ThreadPool& pool);

}  // namespace deputy::host
