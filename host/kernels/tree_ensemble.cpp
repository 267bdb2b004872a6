#include "kernels/tree_ensemble.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/parts.hpp"

namespace deputy::host {

template <class T>
bool TreeEnsemble<T>::Takes(const Node& node, T value) const {
  if (node.missing_is_true && std::isnan(value)) return true;
  switch (node.mode) {
    case TreeMode::kLessOrEqual: return value <= node.threshold;
    case TreeMode::kLess: return value < node.threshold;
    case TreeMode::kGreaterOrEqual: return value >= node.threshold;
    case TreeMode::kGreater: return value > node.threshold;
    case TreeMode::kEqual: return value == node.threshold;
    case TreeMode::kNotEqual: return value != node.threshold;
    case TreeMode::kMember:
      return !std::isnan(value) && std::binary_search(members[node.set].begin(), members[node.set].end(), value);
    case TreeMode::kLeaf: break;
  }
  return false;
}

template <class T>
void TreeEnsemble<T>::Score(const T* row, T* scores, uint8_t* has_score) const {
  EndCheck check;
  for (const uint32_t root : roots) {
    int64_t steps = 0;
    const Node& leaf = Leaf(root, row, steps);
    if (check.Ends(steps + leaf.if_false - leaf.if_true)) return;
    for (uint32_t i = leaf.if_true; i < leaf.if_false; ++i) {
      const Weight& weight = weights[i];
      T& score = scores[weight.target];
      const bool first = has_score[weight.target] == 0;
      has_score[weight.target] = 1;
      switch (aggregate) {
        case TreeAggregate::kAverage:
        case TreeAggregate::kSum: score += weight.value; break;
        case TreeAggregate::kMin: score = first || weight.value < score ? weight.value : score; break;
        case TreeAggregate::kMax: score = first || weight.value > score ? weight.value : score; break;
      }
    }
  }
}

template <class T>
void TreeEnsemble<T>::FinishRegression(T* scores, const uint8_t* has_score) const {
  for (int64_t i = 0; i < targets; ++i) {
    if (has_score[i] == 0) scores[i] = 0;
    if (aggregate == TreeAggregate::kAverage) scores[i] /= static_cast<T>(roots.size());
    if (!base_values.empty()) scores[i] += base_values[static_cast<size_t>(i)];
  }
  if (targets > 1) return TransformScores(transform, scores, targets);
  // One score is no distribution, and ONNX Runtime leaves it as it is with the logistic function too.
  if (transform == ScoreTransform::kProbit) *scores = static_cast<T>(ProbitOf(static_cast<float>(*scores)));
}

namespace {

template <class T>
int64_t LabelOfSeveral(const TreeEnsemble<T>& trees, const TreeClasses& classes, T* scores, uint8_t* has_score) {
  for (size_t i = 0; i < trees.base_values.size(); ++i) {
    scores[i] += trees.base_values[i];
    has_score[i] = 1;
  }
  int64_t best = -1;
  for (int64_t i = 0; i < trees.targets; ++i)
    if (has_score[i] != 0 && (best < 0 || scores[i] > scores[best])) best = i;
  TransformScores(trees.transform, scores, trees.targets);
  return classes.labels[static_cast<size_t>(std::max<int64_t>(best, 0))];
}

// The label of the only score, or of the positive class's.
template <class T>
int64_t LabelOf(const TreeClasses& classes, T score) {
  if (!classes.one_class_has_weights) return score > 0 ? 1 : 0;  // as ONNX Runtime has it: not one of the labels
  return classes.labels[score > (classes.weights_are_positive ? T(0.5) : T(0)) ? 1 : 0];
}

template <class T>
int64_t LabelOfTwo(const TreeEnsemble<T>& trees, const TreeClasses& classes, T* scores, uint8_t* has_score) {
  const std::vector<T>& base = trees.base_values;
  bool is_one_score = false;
  if (base.size() == 2 && has_score[1] != 0) {
    // As ONNX Runtime has it: the score of the second class follows from that of the first one.
    scores[1] = base[1] + scores[0];
    scores[0] = -scores[1];
  } else if (base.size() == 2) {
    scores[0] += base[0];
  } else {
    if (base.size() == 1) scores[0] += base[0];
    is_one_score = has_score[1] == 0;
  }
  for (int i = 0; i < 2; ++i)
    if (has_score[i] == 0) scores[i] = 0;
  const int64_t label = LabelOf(classes, has_score[1] != 0 ? scores[1] : scores[0]);
  if (is_one_score) {
    const bool complements = classes.one_class_has_weights && classes.weights_are_positive;
    WriteTwoScores(complements ? FirstScore::kComplement : FirstScore::kOpposite, trees.transform, scores[0], scores);
  } else {
    TransformScores(trees.transform, scores, 2);
  }
  return label;
}

}  // namespace

template <class T>
int64_t FinishClassification(const TreeEnsemble<T>& trees, const TreeClasses& classes, T* scores, uint8_t* has_score) {
  if (trees.targets > 2) return LabelOfSeveral(trees, classes, scores, has_score);
  if (trees.targets == 2) return LabelOfTwo(trees, classes, scores, has_score);
  if (!trees.base_values.empty()) *scores += trees.base_values[0];
  const int64_t label = LabelOf(TreeClasses{}, *scores);
  if (trees.transform == ScoreTransform::kProbit) *scores = static_cast<T>(ProbitOf(static_cast<float>(*scores)));
  return label;
}

template struct TreeEnsemble<float>;
template struct TreeEnsemble<double>;
template int64_t FinishClassification(const TreeEnsemble<float>&, const TreeClasses&, float*, uint8_t*);
template int64_t FinishClassification(const TreeEnsemble<double>&, const TreeClasses&, double*, uint8_t*);

}  // namespace deputy::host
