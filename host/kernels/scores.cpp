#include "kernels/scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace deputy::host {
namespace {

// softmax, in which elements near 0 count for nothing with kSoftmaxZero.
template <class T>
void Softmax(T* scores, int64_t count, bool keeps_zeros) {
  constexpr T kNearZero = T(1e-7f);
  const T most = *std::max_element(scores, scores + count, [](T a, T b) { return a < b; });
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (keeps_zeros && std::fabs(scores[i]) <= kNearZero) {
      scores[i] *= std::exp(-most);
      continue;
    }
    scores[i] = std::exp(scores[i] - most);
    sum += scores[i];
  }
  for (int64_t i = 0; i < count; ++i) scores[i] /= sum;
}

template <class T>
void Transform(ScoreTransform transform, T* scores, int64_t count) {
  switch (transform) {
    case ScoreTransform::kIdentity: return;
    case ScoreTransform::kSoftmax: return Softmax(scores, count, false);
    case ScoreTransform::kSoftmaxZero: return Softmax(scores, count, true);
    case ScoreTransform::kLogistic:
      for (int64_t i = 0; i < count; ++i) scores[i] = static_cast<T>(LogisticOf(static_cast<float>(scores[i])));
      return;
    case ScoreTransform::kProbit:
      for (int64_t i = 0; i < count; ++i) scores[i] = static_cast<T>(ProbitOf(static_cast<float>(scores[i])));
      return;
  }
}

}  // namespace

float LogisticOf(float score) {
  const float positive = 1 / (1 + std::exp(-std::fabs(score)));
  return score < 0 ? 1 - positive : positive;
}

float ProbitOf(float score) {
  constexpr float kA = 0.147f, kPi = 3.14159f, kRoot = 1.41421356f;
  const float x = 2 * score - 1;
  const float logarithm = std::log((1 - x) * (1 + x));
  const float half = 2 / (kPi * kA) + 0.5f * logarithm;
  const float magnitude = std::sqrt(std::sqrt(half * half - logarithm / kA) - half);
  return kRoot * (x < 0 ? -magnitude : magnitude);
}

void TransformScores(ScoreTransform transform, float* scores, int64_t count) { Transform(transform, scores, count); }
void TransformScores(ScoreTransform transform, double* scores, int64_t count) { Transform(transform, scores, count); }

template <class T>
T DotProduct(const T* a, const T* b, int64_t count) {
  // Lanes of their own, which the compiler turns into vectors.
  constexpr int64_t kLanes = 16;
  T sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  T sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const T lane : sums) sum += lane;
  return sum;
}

template float DotProduct(const float*, const float*, int64_t);
template double DotProduct(const double*, const double*, int64_t);

}  // namespace deputy::host
