// One element of each floating point function of unary.hpp. Definitions are those of the ONNX operator specification;
// the formulas were chosen to be exact near zero and not to overflow early. NaN gives NaN.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/linalg/vector_math.hpp"
#include "kernels/unary.hpp"

namespace deputy::host {

template <class T>
T ExpOf(T x) {
  if constexpr (std::is_same_v<T, float>)
    return VectorExp(x);
  else
    return std::exp(x);
}

template <class T>
T TanhOf(T x) {
  if constexpr (std::is_same_v<T, float>)
    return VectorTanh(x);
  else
    return std::tanh(x);
}

template <class T>
T ErfOf(T x) {
  if constexpr (std::is_same_v<T, float>)
    return VectorErf(x);
  else
    return std::erf(x);
}

template <class T>
T SoftplusOf(T x) {
  return (x > 0 ? x : T{0}) + std::log1p(ExpOf(-std::fabs(x)));
}

template <class T>
T ClampToUnit(T x) {
  return x < 0 ? T{0} : (x > 1 ? T{1} : x);
}

template <UnaryOp kOp, class T>
T ApplyFloat(T x, T alpha, T beta) {
  static_cast<void>(alpha);
  static_cast<void>(beta);
  if constexpr (kOp == UnaryOp::kAbs) return std::fabs(x);
  if constexpr (kOp == UnaryOp::kAcos) return std::acos(x);
  if constexpr (kOp == UnaryOp::kAcosh) return std::acosh(x);
  if constexpr (kOp == UnaryOp::kAsin) return std::asin(x);
  if constexpr (kOp == UnaryOp::kAsinh) return std::asinh(x);
  if constexpr (kOp == UnaryOp::kAtan) return std::atan(x);
  if constexpr (kOp == UnaryOp::kAtanh) return std::atanh(x);
  if constexpr (kOp == UnaryOp::kCeil) return std::ceil(x);
  if constexpr (kOp == UnaryOp::kCelu) return x > 0 ? x : alpha * std::expm1(x / alpha);
  if constexpr (kOp == UnaryOp::kCos) return std::cos(x);
  if constexpr (kOp == UnaryOp::kCosh) return std::cosh(x);
  if constexpr (kOp == UnaryOp::kElu) return x < 0 ? alpha * std::expm1(x) : x;
  if constexpr (kOp == UnaryOp::kErf) return ErfOf(x);
  if constexpr (kOp == UnaryOp::kExp) return ExpOf(x);
  if constexpr (kOp == UnaryOp::kFloor) return std::floor(x);
  if constexpr (kOp == UnaryOp::kHardSigmoid) return ClampToUnit(alpha * x + beta);
  if constexpr (kOp == UnaryOp::kHardSwish) return x * ClampToUnit(x / T{6} + T{0.5});
  if constexpr (kOp == UnaryOp::kLeakyRelu) return x < 0 ? alpha * x : x;
  if constexpr (kOp == UnaryOp::kLog) return std::log(x);
  if constexpr (kOp == UnaryOp::kMish) return x * TanhOf(SoftplusOf(x));
  if constexpr (kOp == UnaryOp::kNeg) return -x;
  if constexpr (kOp == UnaryOp::kReciprocal) return T{1} / x;
  if constexpr (kOp == UnaryOp::kRelu) return x < 0 ? T{0} : x;
  if constexpr (kOp == UnaryOp::kRound) return std::nearbyint(x);  // halves are rounded to even
  if constexpr (kOp == UnaryOp::kSelu) return x > 0 ? beta * x : beta * (alpha * std::expm1(x));
  if constexpr (kOp == UnaryOp::kSigmoid) return T{1} / (T{1} + ExpOf(-x));
  if constexpr (kOp == UnaryOp::kSign) return x > 0 ? T{1} : (x < 0 ? T{-1} : x);
  if constexpr (kOp == UnaryOp::kSin) return std::sin(x);
  if constexpr (kOp == UnaryOp::kSinh) return std::sinh(x);
  if constexpr (kOp == UnaryOp::kSoftplus) return SoftplusOf(x);
  if constexpr (kOp == UnaryOp::kSoftsign) return x / (T{1} + std::fabs(x));
  if constexpr (kOp == UnaryOp::kSqrt) return std::sqrt(x);
  if constexpr (kOp == UnaryOp::kTan) return std::tan(x);
  if constexpr (kOp == UnaryOp::kTanh) return TanhOf(x);
  if constexpr (kOp == UnaryOp::kThresholdedRelu) return x > alpha ? x : T{0};
}

}  // namespace deputy::host
