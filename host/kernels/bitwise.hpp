// Bitwise functions of two integers.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"
#include "kernels/broadcast.hpp"

namespace deputy::host {

// Shifts are unsigned; a shift by the width of the type or more gives 0.
enum class BitwiseOp : uint8_t { kAnd, kOr, kXor, kShiftLeft, kShiftRight };

// For integers; false, with nothing written, for other types.
bool Bitwise(BitwiseOp op, DType dtype, const BroadcastPlan<2>& plan, const void* a, const void* b, void* target,
             ThreadPool& pool);

bool BitwiseNot(DType dtype, const void* source, void* target, int64_t count, ThreadPool& pool);

}  // namespace deputy::host
