// Reads the trees of ai.onnx.ml's ensembles from their attributes, in which a model may write anything: lists of
// different lengths, nodes that do not exist, cycles.
#pragma once

#include <cstdint>
#include <string>

#include "graph/primitive.hpp"
#include "kernels/tree_ensemble.hpp"

namespace deputy::host {

// TreeEnsembleClassifier (`weights` is "class") and TreeEnsembleRegressor ("target"), for `targets` classes or targets.
// Errors are kModel, with the attribute, the element and the rule.
template <class T>
Result<TreeEnsemble<T>> ReadNumberedTrees(const Primitive& primitive, const std::string& weights, int64_t targets);

// TreeEnsemble, whose branches lead to elements of the lists of nodes or of leaves.
template <class T>
Result<TreeEnsemble<T>> ReadIndexedTrees(const Primitive& primitive);

extern template Result<TreeEnsemble<float>> ReadNumberedTrees(const Primitive&, const std::string&, int64_t);
extern template Result<TreeEnsemble<double>> ReadNumberedTrees(const Primitive&, const std::string&, int64_t);
extern template Result<TreeEnsemble<float>> ReadIndexedTrees(const Primitive&);
extern template Result<TreeEnsemble<double>> ReadIndexedTrees(const Primitive&);

}  // namespace deputy::host
