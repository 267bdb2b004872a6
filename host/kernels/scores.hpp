// The scores of classical models: the functions that ai.onnx.ml applies to the scores of one row, and the products of
// rows with weights from which linear models and support vector machines compute them.
#pragma once

#include <cstdint>

namespace deputy::host {

enum class ScoreTransform : uint8_t { kIdentity, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

float LogisticOf(float score);
// The quantile of the normal distribution by Winitzki's approximation of the inverse error function, with the constants
// of ONNX Runtime. NaN outside of 0 to 1.
float ProbitOf(float score);

// The scores of one row, in place; two or more, because one score is transformed by other rules in each operator.
void TransformScores(ScoreTransform transform, float* scores, int64_t count);
void TransformScores(ScoreTransform transform, double* scores, int64_t count);

// How the score of the first of two classes follows from that of the second one.
enum class FirstScore : uint8_t { kComplement, kOpposite };  // 1 - score, -score

// The scores of both classes where a model computes only one; `scores` has room for them. The logistic function and the
// quantile of two opposite scores have a meaning for both; softmax is not applied.
template <class T>
void WriteTwoScores(FirstScore rule, ScoreTransform transform, T score, T* scores) {
  switch (transform) {
    case ScoreTransform::kLogistic:
      scores[0] = static_cast<T>(LogisticOf(static_cast<float>(-score)));
      scores[1] = static_cast<T>(LogisticOf(static_cast<float>(score)));
      return;
    case ScoreTransform::kProbit:
      scores[0] = static_cast<T>(ProbitOf(static_cast<float>(score)));
      scores[1] = -scores[0];
      return;
    default: break;
  }
  scores[0] = rule == FirstScore::kOpposite ? -score : T(1) - score;
  scores[1] = score;
}

// Sum of the products of `count` elements.
template <class T>
T DotProduct(const T* a, const T* b, int64_t count);

}  // namespace deputy::host
