// The loop shared by all binary functions, instantiated per combination of steps so that each becomes vector code.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/binary.hpp"

namespace deputy::host {

// F: a type with `Result operator()(Operand, Operand) const`, without state.
template <class F, class Operand>
void RunBinaryLoop(const void* first, int64_t first_step, const void* second, int64_t second_step, void* target,
                   int64_t count) {
  using Result = std::invoke_result_t<F, Operand, Operand>;
  const Operand* x = static_cast<const Operand*>(first);
  const Operand* y = static_cast<const Operand*>(second);
  Result* to = static_cast<Result*>(target);
  const F f;
  if (count <= 0) return;
  if (first_step != 0 && second_step != 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = f(x[i], y[i]);
  } else if (first_step != 0) {
    const Operand right = *y;
    for (int64_t i = 0; i < count; ++i) to[i] = f(x[i], right);
  } else if (second_step != 0) {
    const Operand left = *x;
    for (int64_t i = 0; i < count; ++i) to[i] = f(left, y[i]);
  } else {
    const Result value = f(*x, *y);
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  }
}

// The loops for a compute type; null when the operation does not support it.
BinaryLoop FindArithmeticLoop(BinaryOp op, DType dtype);
BinaryLoop FindComparisonLoop(BinaryOp op, DType dtype);

}  // namespace deputy::host
