// Trees of comparisons, whose leaves hold weights of the targets: for each row the leaf of every tree is found, and the
// weights of a target are added up, averaged, or the least or greatest is taken.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/scores.hpp"

namespace deputy::host {

enum class TreeMode : uint8_t { kLessOrEqual, kLess, kGreaterOrEqual, kGreater, kEqual, kNotEqual, kMember, kLeaf };
enum class TreeAggregate : uint8_t { kAverage, kSum, kMin, kMax };

// T: that of thresholds and weights, float or double.
template <class T>
struct TreeEnsemble {
  // A node that compares a feature with a threshold, or a leaf.
  struct Node {
    TreeMode mode = TreeMode::kLeaf;
    bool missing_is_true = false;  // whether NaN takes the branch of true
    int32_t feature = 0;
    T threshold = 0;
    // Of a leaf its weights [if_true, if_false); of kMember the values are members[set].
    uint32_t if_true = 0, if_false = 0;
    uint32_t set = 0;
  };
  struct Weight {
    int32_t target = 0;
    T value = 0;
  };

  std::vector<Node> nodes;  // without cycles; two nodes may have one child
  std::vector<uint32_t> roots;
  std::vector<Weight> weights;
  std::vector<std::vector<T>> members;  // of the nodes of kMember, sorted
  std::vector<T> base_values;
  int64_t targets = 0;
  int64_t features = 0;  // one more than the greatest that a node compares
  TreeAggregate aggregate = TreeAggregate::kSum;
  ScoreTransform transform = ScoreTransform::kIdentity;

  // The leaf of one tree for a row of `features` or more elements; adds the nodes that were visited to `steps`.
  const Node& Leaf(uint32_t root, const T* row, int64_t& steps) const {
    const Node* node = &nodes[root];
    for (; node->mode != TreeMode::kLeaf; ++steps)
      node = &nodes[Takes(*node, row[node->feature]) ? node->if_true : node->if_false];
    ++steps;
    return *node;
  }

  // Adds the weights of every tree, until the run ends: `scores` and `has_score` have one element per target, and begin
  // as zeros.
  void Score(const T* row, T* scores, uint8_t* has_score) const;
  // What remains to be done to the scores of a regression: base values, the average, the transform.
  void FinishRegression(T* scores, const uint8_t* has_score) const;

 private:
  bool Takes(const Node& node, T value) const;
};

// The rules of a classifier of two classes, which are those of ONNX Runtime.
struct TreeClasses {
  std::vector<int64_t> labels;
  bool one_class_has_weights = false;  // of two: the scores are those of the positive class alone
  bool weights_are_positive = false;   // then a score above 0.5 is positive, otherwise one above 0
};

// The label of the scores of a row, to which it applies base values and the transform; of one class `scores` has room
// for one element, of more for one each.
template <class T>
int64_t FinishClassification(const TreeEnsemble<T>& trees, const TreeClasses& classes, T* scores, uint8_t* has_score);

extern template struct TreeEnsemble<float>;
extern template struct TreeEnsemble<double>;
extern template int64_t FinishClassification(const TreeEnsemble<float>&, const TreeClasses&, float*, uint8_t*);
extern template int64_t FinishClassification(const TreeEnsemble<double>&, const TreeClasses&, double*, uint8_t*);

}  // namespace deputy::host
