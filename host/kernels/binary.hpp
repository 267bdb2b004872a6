// Functions of two tensors with broadcasting, bitwise ones too, and the choice between two by a third (Where).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.hpp"
#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"
#include "kernels/broadcast.hpp"
#include "kernels/cast.hpp"

namespace deputy::host {

// kMod has the sign of the divisor, also of a zero; kFMod has the sign of the dividend. Integers wrap; dividing by
// zero gives 0. kMax and kMin give NaN where one side is NaN. kPRelu: second is the slope. kAnd, kOr and kXor take
// bool.
enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kFMod,
  kMax,
  kMin,
  kPRelu,
  kPow,
  kAnd,
  kOr,
  kXor,
  kEqual,
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
};

// Result type of an operation on operands of `dtype`: bool for comparisons and logic.
DType ResultOf(BinaryOp op, DType dtype);

// target[i] = op(first[i * first_step], second[i * second_step]); steps are 0 or 1. The target may be the memory of an
// operand with step 1 and elements of the same size.
using BinaryLoop = void (*)(const void* first, int64_t first_step, const void* second, int64_t second_step,
                            void* target, int64_t count);

// The loops for a compute type; null when the operation does not support it.
BinaryLoop FindArithmeticLoop(BinaryOp op, DType dtype);
BinaryLoop FindComparisonLoop(BinaryOp op, DType dtype);

// The implementation of an operation for given types: a loop in its compute types, and conversions around it.
struct BinaryKernel {
  BinaryLoop loop = nullptr;
  ConvertFunction convert_first = nullptr, convert_second = nullptr, convert_target = nullptr;  // null: not needed
  size_t first_size = 0, second_size = 0, target_size = 0;  // bytes of an element in memory
  int64_t grain = 0;                                        // the least number of elements for a thread
};

// Empty when the operation does not support the types. Only kPow takes two different types; the result has the first.
std::optional<BinaryKernel> FindBinary(BinaryOp op, DType first, DType second);

// Operands are dense, in the shapes that `plan` was made for.
void Binary(const BinaryKernel& kernel, const BroadcastPlan<2>& plan, const void* first, const void* second,
            void* target, ThreadPool& pool);

// target = condition ? first : second, for elements of 1, 2, 4 or 8 bytes. The plan's operands are in that order. False
// for another size.
bool Where(size_t element_size, const BroadcastPlan<3>& plan, const void* condition, const void* first,
           const void* second, void* target, ThreadPool& pool);

// A shift by a negative number, or by the width of the type or more, gives 0. kShiftSigned shifts to the right and
// keeps the sign, so that it then gives -1 for a negative number.
enum class BitwiseOp : uint8_t { kAnd, kOr, kXor, kShiftLeft, kShiftRight, kShiftSigned };

// For integers; false, with nothing written, for other types.
bool Bitwise(BitwiseOp op, DType dtype, const BroadcastPlan<2>& plan, const void* a, const void* b, void* target,
             ThreadPool& pool);

bool BitwiseNot(DType dtype, const void* source, void* target, int64_t count, ThreadPool& pool);

}  // namespace deputy::host
