// Element-wise functions of one tensor.
#pragma once

#include <cstdint>

#include "base/thread_pool.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host {

// Floating point types have all of them except Not. Integers have Abs, Erf, Neg, Relu, Sign; bool has Not. IsInf and
// IsNaN of a float give bool.
enum class UnaryOp : uint8_t {
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,
  kCos,
  kCosh,
  kElu,
  kErf,
  kExp,
  kFloor,
  kHardSigmoid,
  kHardSwish,
  kIsInf,
  kIsNaN,
  kLeakyRelu,
  kLog,
  kMish,
  kNeg,
  kNot,
  kReciprocal,
  kRelu,
  kRound,
  kSelu,
  kSigmoid,
  kSign,
  kSin,
  kSinh,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kTan,
  kTanh,
  kThresholdedRelu,
};

struct UnaryParameters {
  float alpha = 0;                        // Celu, Elu, HardSigmoid, LeakyRelu, Selu, ThresholdedRelu
  float beta = 0;                         // HardSigmoid's beta, Selu's gamma
  bool positive = true, negative = true;  // the infinities that IsInf detects
};

// Source and target may be the same memory if their elements have the same size.
using UnaryFunction = void (*)(const void* source, void* target, int64_t count, const UnaryParameters& parameters);

// The inner loop for a compute type (ComputeType of dispatch.hpp); null when the type does not have the operation.
UnaryFunction FindUnary(UnaryOp op, DType dtype);

// True when `dtype`, which may be a 16-bit float, has the operation.
bool SupportsUnary(UnaryOp op, DType dtype);

// On the thread pool. False, with nothing written, when not supported.
bool Unary(UnaryOp op, DType dtype, const UnaryParameters& parameters, const void* source, void* target, int64_t count,
           ThreadPool& pool);

}  // namespace deputy::host
