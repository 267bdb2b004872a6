// The activations of recurrent cells, applied in place.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/linalg/rows.hpp"
#include "kernels/linalg/vector_math.hpp"
#include "kernels/recurrent.hpp"

namespace deputy::host {

inline float SigmoidOf(float x) { return VectorSigmoid(x); }
inline double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
inline float TanhOf(float x) { return VectorTanh(x); }
inline double TanhOf(double x) { return std::tanh(x); }

template <class T, class F>
void TransformInPlace(T* values, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i) values[i] = f(values[i]);
}

template <class T>
void Activate(const Activation& activation, T* values, int64_t count) {
  const T alpha = static_cast<T>(activation.alpha), beta = static_cast<T>(activation.beta);
  if constexpr (std::is_same_v<T, float>) {
    if (activation.kind == ActivationKind::kSigmoid)
      return linalg::Apply(linalg::RowFunction::kSigmoid, values, count, 0, 0, values);
    if (activation.kind == ActivationKind::kTanh)
      return linalg::Apply(linalg::RowFunction::kTanh, values, count, 0, 0, values);
  }
  switch (activation.kind) {
    case ActivationKind::kSigmoid: TransformInPlace(values, count, [](T x) { return SigmoidOf(x); }); break;
    case ActivationKind::kTanh: TransformInPlace(values, count, [](T x) { return TanhOf(x); }); break;
    case ActivationKind::kRelu: TransformInPlace(values, count, [](T x) { return x > T(0) ? x : T(0); }); break;
    case ActivationKind::kAffine: TransformInPlace(values, count, [=](T x) { return alpha * x + beta; }); break;
    case ActivationKind::kLeakyRelu:
      TransformInPlace(values, count, [=](T x) { return x >= T(0) ? x : alpha * x; });
      break;
    case ActivationKind::kThresholdedRelu:
      TransformInPlace(values, count, [=](T x) { return x > alpha ? x : T(0); });
      break;
    case ActivationKind::kScaledTanh:
      TransformInPlace(values, count, [=](T x) { return alpha * TanhOf(beta * x); });
      break;
    case ActivationKind::kHardSigmoid:
      TransformInPlace(values, count, [=](T x) {
        const T y = alpha * x + beta;
        return y < T(0) ? T(0) : y > T(1) ? T(1) : y;
      });
      break;
    case ActivationKind::kElu:
      TransformInPlace(values, count, [=](T x) { return x >= T(0) ? x : alpha * (std::exp(x) - T(1)); });
      break;
    case ActivationKind::kSoftsign:
      TransformInPlace(values, count, [](T x) { return x / (T(1) + std::fabs(x)); });
      break;
    case ActivationKind::kSoftplus:  // log(1 + e^x) without overflow for large x
      TransformInPlace(values, count, [](T x) { return (x > T(0) ? x : T(0)) + std::log1p(std::exp(-std::fabs(x))); });
      break;
  }
}

}  // namespace deputy::host
