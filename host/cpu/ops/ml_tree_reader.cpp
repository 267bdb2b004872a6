#include "cpu/ops/ml_tree_reader.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/memory_budget.hpp"
#include "base/printable.hpp"
#include "cpu/ops/ml_attributes.hpp"

namespace deputy::host {
namespace {

using Ints = std::span<const int64_t>;

constexpr size_t kMostNodes = size_t{1} << 31;  // indices have 32 bits

Status CheckNodes(const std::string& attribute, size_t count, size_t nodes, std::string_view what) {
  if (nodes > kMostNodes)
    return Error(StatusCode::kResourceExhausted, "{} nodes of trees, expected at most {}", nodes, kMostNodes);
  if (count == nodes) return {};
  return Error(StatusCode::kModel, "attribute '{}' has {} elements, expected {}, one for each {}", attribute, count,
               nodes, what);
}

std::optional<TreeMode> TreeModeOf(std::string_view word) {
  if (word == "BRANCH_LEQ") return TreeMode::kLessOrEqual;
  if (word == "BRANCH_LT") return TreeMode::kLess;
  if (word == "BRANCH_GTE") return TreeMode::kGreaterOrEqual;
  if (word == "BRANCH_GT") return TreeMode::kGreater;
  if (word == "BRANCH_EQ") return TreeMode::kEqual;
  if (word == "BRANCH_NEQ") return TreeMode::kNotEqual;
  if (word == "LEAF") return TreeMode::kLeaf;
  return std::nullopt;
}

// Nodes by the numbers of their tree and in it.
class NodeNumbers {
 public:
  // Fails where two have the same.
  Status Read(Ints trees, Ints nodes) {
    for (size_t i = 0; i < trees.size(); ++i) order_.emplace_back(trees[i], nodes[i], static_cast<uint32_t>(i));
    std::sort(order_.begin(), order_.end());
    for (size_t i = 1; i < order_.size(); ++i)
      if (std::get<0>(order_[i]) == std::get<0>(order_[i - 1]) && std::get<1>(order_[i]) == std::get<1>(order_[i - 1]))
        return Error(
            StatusCode::kModel, "attribute 'nodes_nodeids': node {} of tree {} is listed twice, in elements {} and {}",
            std::get<1>(order_[i]), std::get<0>(order_[i]), std::get<2>(order_[i - 1]), std::get<2>(order_[i]));
    return {};
  }

  // The element of the lists; fails for a node that is not there, which element `i` of `attribute` names.
  Result<uint32_t> Find(int64_t tree, int64_t node, std::string_view attribute, size_t i) const {
    const auto found = std::lower_bound(order_.begin(), order_.end(), std::tuple(tree, node, uint32_t{0}));
    if (found != order_.end() && std::get<0>(*found) == tree && std::get<1>(*found) == node) return std::get<2>(*found);
    return Error(StatusCode::kModel, "attribute '{}': element {} names node {} of tree {}, which does not exist",
                 attribute, i, node, tree);
  }

 private:
  std::vector<std::tuple<int64_t, int64_t, uint32_t>> order_;
};

// How many branches lead to each node, and whether any path returns to where it has been. Two branches may lead to one
// node: tests for a set of values are written in that way.
template <class T>
class Paths {
 public:
  explicit Paths(const TreeEnsemble<T>& trees) : trees_(trees), parents_(trees.nodes.size(), 0) {
    for (const auto& node : trees.nodes) {
      if (node.mode == TreeMode::kLeaf) continue;
      ++parents_[node.if_true];
      ++parents_[node.if_false];
    }
  }

  bool IsRoot(size_t node) const { return parents_[node] == 0; }

  // A node of a cycle, or behind one.
  std::optional<size_t> FindCycle() const {
    std::vector<uint32_t> left = parents_, open;
    for (size_t i = 0; i < left.size(); ++i)
      if (left[i] == 0) open.push_back(static_cast<uint32_t>(i));
    size_t seen = 0;
    while (!open.empty()) {
      const auto& node = trees_.nodes[open.back()];
      open.pop_back();
      ++seen;
      if (node.mode == TreeMode::kLeaf) continue;
      for (const uint32_t child : {node.if_true, node.if_false})
        if (--left[child] == 0) open.push_back(child);
    }
    if (seen == left.size()) return std::nullopt;
    return static_cast<size_t>(std::find_if(left.begin(), left.end(), [](uint32_t count) { return count != 0; }) -
                               left.begin());
  }

 private:
  const TreeEnsemble<T>& trees_;
  std::vector<uint32_t> parents_;
};

template <class T>
Status ReadFeature(TreeEnsemble<T>& trees, size_t i, int64_t feature) {
  if (feature < 0 || feature >= INT32_MAX)
    return Error(StatusCode::kModel, "attribute 'nodes_featureids': element {} is {}, expected 0 to {}", i, feature,
                 INT32_MAX - 1);
  trees.nodes[i].feature = static_cast<int32_t>(feature);
  trees.features = std::max(trees.features, feature + 1);
  return {};
}

template <class T>
Status TakeNodes(size_t nodes, size_t weights) {
  using Trees = TreeEnsemble<T>;
  if (WeightMemoryScope::Take(nodes * sizeof(typename Trees::Node) + weights * sizeof(typename Trees::Weight)))
    return {};
  return WeightMemoryScope::Check();
}

// The lists of TreeEnsembleClassifier and TreeEnsembleRegressor.
template <class T>
class NumberedTrees {
 public:
  NumberedTrees(const Primitive& primitive, std::string weights)
      : primitive_(primitive), weights_(std::move(weights)) {}

  Result<TreeEnsemble<T>> Read(int64_t targets) {
    trees_.targets = targets;
    trees_.transform = ReadTransform(primitive_);
    DEPUTY_RETURN_IF_ERROR(ReadNodes());
    DEPUTY_RETURN_IF_ERROR(ReadBranches());
    DEPUTY_RETURN_IF_ERROR(ReadRoots());
    DEPUTY_RETURN_IF_ERROR(ReadWeights());
    DEPUTY_ASSIGN_OR_RETURN(trees_.base_values, ReadReals<T>(primitive_, "base_values"));
    return std::move(trees_);
  }

 private:
  Ints List(const std::string& name) const { return primitive_.GetInts(name); }

  Status ReadNodes() {
    tree_ids_ = List("nodes_treeids");
    const size_t count = tree_ids_.size();
    if (count == 0) return Error(StatusCode::kModel, "attribute 'nodes_treeids' is empty, expected the nodes of trees");
    for (const char* name : {"nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"})
      DEPUTY_RETURN_IF_ERROR(CheckNodes(name, List(name).size(), count, "of nodes_treeids"));
    const Ints missing = List("nodes_missing_value_tracks_true");
    if (!missing.empty())
      DEPUTY_RETURN_IF_ERROR(CheckNodes("nodes_missing_value_tracks_true", missing.size(), count, "of nodes_treeids"));
    const std::vector<std::string_view> modes = primitive_.GetStrings("nodes_modes");
    DEPUTY_RETURN_IF_ERROR(CheckNodes("nodes_modes", modes.size(), count, "of nodes_treeids"));
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<T> values, ReadReals<T>(primitive_, "nodes_values"));
    DEPUTY_RETURN_IF_ERROR(CheckNodes("nodes_values", values.size(), count, "of nodes_treeids"));
    DEPUTY_RETURN_IF_ERROR(TakeNodes<T>(count, List(weights_ + "_ids").size()));
    trees_.nodes.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const std::optional<TreeMode> mode = TreeModeOf(modes[i]);
      if (!mode)
        return Error(StatusCode::kModel,
                     "attribute 'nodes_modes': element {} is '{}', expected one of: BRANCH_LEQ BRANCH_LT BRANCH_GTE "
                     "BRANCH_GT BRANCH_EQ BRANCH_NEQ LEAF",
                     i, Printable(modes[i], 100));
      trees_.nodes[i].mode = *mode;
      trees_.nodes[i].threshold = values[i];
      trees_.nodes[i].missing_is_true = !missing.empty() && missing[i] != 0;
    }
    return numbers_.Read(tree_ids_, List("nodes_nodeids"));
  }

  Status ReadBranches() {
    const Ints features = List("nodes_featureids"), if_true = List("nodes_truenodeids"),
               if_false = List("nodes_falsenodeids");
    for (size_t i = 0; i < trees_.nodes.size(); ++i) {
      auto& node = trees_.nodes[i];
      if (node.mode == TreeMode::kLeaf) continue;
      DEPUTY_RETURN_IF_ERROR(ReadFeature(trees_, i, features[i]));
      DEPUTY_ASSIGN_OR_RETURN(node.if_true, numbers_.Find(tree_ids_[i], if_true[i], "nodes_truenodeids", i));
      DEPUTY_ASSIGN_OR_RETURN(node.if_false, numbers_.Find(tree_ids_[i], if_false[i], "nodes_falsenodeids", i));
    }
    return {};
  }

  // In the order of their trees in the list.
  Status ReadRoots() {
    const Ints ids = List("nodes_nodeids");
    const Paths<T> paths(trees_);
    if (const std::optional<size_t> node = paths.FindCycle())
      return Error(StatusCode::kModel,
                   "attributes 'nodes_truenodeids' and 'nodes_falsenodeids': branches of tree {} lead back to node {}, "
                   "expected no cycles",
                   tree_ids_[*node], ids[*node]);
    std::vector<std::pair<int64_t, uint32_t>> found;
    for (size_t i = 0; i < trees_.nodes.size(); ++i)
      if (paths.IsRoot(i)) found.emplace_back(tree_ids_[i], static_cast<uint32_t>(i));
    std::vector<std::pair<int64_t, uint32_t>> sorted = found;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i].first == sorted[i - 1].first)
        return Error(StatusCode::kModel,
                     "attributes 'nodes_truenodeids' and 'nodes_falsenodeids': no branch leads to nodes {} and {} of "
                     "tree {}, expected one root for each tree",
                     ids[sorted[i - 1].second], ids[sorted[i].second], sorted[i].first);
    for (const auto& [tree, node] : found) trees_.roots.push_back(node);
    return {};
  }

  // Grouped by leaves; those of other nodes have no effect.
  Status ReadWeights() {
    const Ints targets = List(weights_ + "_ids"), tree_ids = List(weights_ + "_treeids"),
               node_ids = List(weights_ + "_nodeids");
    const std::string of_each = "of " + weights_ + "_ids";
    DEPUTY_RETURN_IF_ERROR(CheckNodes(weights_ + "_treeids", tree_ids.size(), targets.size(), of_each));
    DEPUTY_RETURN_IF_ERROR(CheckNodes(weights_ + "_nodeids", node_ids.size(), targets.size(), of_each));
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<T> values, ReadReals<T>(primitive_, weights_ + "_weights"));
    DEPUTY_RETURN_IF_ERROR(CheckNodes(weights_ + "_weights", values.size(), targets.size(), of_each));
    std::vector<uint32_t> leaves(targets.size());
    std::vector<uint32_t> next(trees_.nodes.size() + 1, 0);
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] < 0 || targets[i] >= trees_.targets)
        return Error(StatusCode::kModel, "attribute '{}_ids': element {} is {}, expected 0 to {}", weights_, i,
                     targets[i], trees_.targets - 1);
      DEPUTY_ASSIGN_OR_RETURN(leaves[i], numbers_.Find(tree_ids[i], node_ids[i], weights_ + "_nodeids", i));
      if (IsLeaf(leaves[i])) ++next[leaves[i] + 1];
    }
    for (size_t i = 0; i < trees_.nodes.size(); ++i) {
      next[i + 1] += next[i];
      if (!IsLeaf(i)) continue;
      trees_.nodes[i].if_true = next[i];
      trees_.nodes[i].if_false = next[i + 1];
    }
    trees_.weights.resize(next.back());
    for (size_t i = 0; i < targets.size(); ++i)
      if (IsLeaf(leaves[i])) trees_.weights[next[leaves[i]]++] = {static_cast<int32_t>(targets[i]), values[i]};
    return {};
  }

  bool IsLeaf(size_t node) const { return trees_.nodes[node].mode == TreeMode::kLeaf; }

  const Primitive& primitive_;
  const std::string weights_;
  Ints tree_ids_;
  NodeNumbers numbers_;
  TreeEnsemble<T> trees_;
};

// The lists of TreeEnsemble: first its nodes, behind them its leaves.
template <class T>
class IndexedTrees {
 public:
  explicit IndexedTrees(const Primitive& primitive) : primitive_(primitive) {}

  Result<TreeEnsemble<T>> Read() {
    trees_.aggregate = static_cast<TreeAggregate>(primitive_.GetInt("aggregate_function", 1));
    trees_.transform = static_cast<ScoreTransform>(primitive_.GetInt("post_transform", 0));
    count_ = primitive_.GetInts("nodes_featureids").size();
    if (count_ == 0)
      return Error(StatusCode::kModel, "attribute 'nodes_featureids' is empty, expected the nodes of trees");
    DEPUTY_RETURN_IF_ERROR(ReadLeaves());
    DEPUTY_RETURN_IF_ERROR(ReadNodes());
    DEPUTY_RETURN_IF_ERROR(ReadMembers());
    if (const std::optional<size_t> node = Paths<T>(trees_).FindCycle())
      return Error(
          StatusCode::kModel,
          "attributes 'nodes_truenodeids' and 'nodes_falsenodeids': branches lead back to node {}, expected no "
          "cycles",
          *node);
    const Ints roots = primitive_.GetInts("tree_roots");
    if (roots.empty())
      return Error(StatusCode::kModel, "attribute 'tree_roots' is empty, expected the root of each tree");
    for (size_t i = 0; i < roots.size(); ++i) {
      DEPUTY_RETURN_IF_ERROR(CheckIndex("tree_roots", i, roots[i], count_));
      trees_.roots.push_back(static_cast<uint32_t>(roots[i]));
    }
    return std::move(trees_);
  }

 private:
  static Status CheckIndex(std::string_view attribute, size_t i, int64_t index, size_t count) {
    if (index >= 0 && static_cast<uint64_t>(index) < count) return {};
    return Error(StatusCode::kModel, "attribute '{}': element {} is {}, of {} there", attribute, i, index, count);
  }

  Status ReadLeaves() {
    const Ints targets = primitive_.GetInts("leaf_targetids");
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<T> values,
                            RealsOf<T>(primitive_.GetTensor("leaf_weights"), "leaf_weights"));
    DEPUTY_RETURN_IF_ERROR(CheckNodes("leaf_weights", values.size(), targets.size(), "of leaf_targetids"));
    DEPUTY_RETURN_IF_ERROR(CheckNodes("nodes_featureids", count_, count_, ""));
    int64_t most = -1;
    for (const int64_t target : targets) most = std::max(most, target);
    trees_.targets = primitive_.GetInt("n_targets", most + 1);
    for (size_t i = 0; i < targets.size(); ++i)
      if (targets[i] < 0 || targets[i] >= trees_.targets)
        return Error(StatusCode::kModel, "attribute 'leaf_targetids': element {} is {}, expected 0 to {}", i,
                     targets[i], trees_.targets - 1);
    if (targets.empty())
      return Error(StatusCode::kModel, "attribute 'leaf_targetids' is empty, expected the leaves of trees");
    DEPUTY_RETURN_IF_ERROR(TakeNodes<T>(count_ + targets.size(), targets.size()));
    trees_.nodes.resize(count_ + targets.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      trees_.nodes[count_ + i].if_true = static_cast<uint32_t>(i);
      trees_.nodes[count_ + i].if_false = static_cast<uint32_t>(i + 1);
      trees_.weights.push_back({static_cast<int32_t>(targets[i]), values[i]});
    }
    return {};
  }

  Status ReadNodes() {
    const Ints features = primitive_.GetInts("nodes_featureids"),
               missing = primitive_.GetInts("nodes_missing_value_tracks_true");
    for (const char* name : {"nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs"})
      DEPUTY_RETURN_IF_ERROR(CheckNodes(name, primitive_.GetInts(name).size(), count_, "of nodes_featureids"));
    if (!missing.empty())
      DEPUTY_RETURN_IF_ERROR(
          CheckNodes("nodes_missing_value_tracks_true", missing.size(), count_, "of nodes_featureids"));
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<T> splits,
                            RealsOf<T>(primitive_.GetTensor("nodes_splits"), "nodes_splits"));
    DEPUTY_RETURN_IF_ERROR(CheckNodes("nodes_splits", splits.size(), count_, "of nodes_featureids"));
    const std::optional<Tensor> modes = primitive_.GetTensor("nodes_modes");
    if (!modes || modes->dtype() != DType::kUint8)
      return Error(StatusCode::kModel, "attribute 'nodes_modes' is a tensor of {}, expected uint8",
                   NameOf(modes ? modes->dtype() : DType::kUndefined));
    DEPUTY_RETURN_IF_ERROR(CheckNodes("nodes_modes", modes->byte_size(), count_, "of nodes_featureids"));
    for (size_t i = 0; i < count_; ++i) {
      const uint8_t mode = modes->values<uint8_t>()[i];
      if (mode >= static_cast<uint8_t>(TreeMode::kLeaf))
        return Error(StatusCode::kModel, "attribute 'nodes_modes': element {} is {}, expected 0 to 6", i, mode);
      auto& node = trees_.nodes[i];
      node.mode = static_cast<TreeMode>(mode);
      node.threshold = splits[i];
      node.missing_is_true = !missing.empty() && missing[i] != 0;
      DEPUTY_RETURN_IF_ERROR(ReadFeature(trees_, i, features[i]));
      DEPUTY_ASSIGN_OR_RETURN(node.if_true, Child("nodes_truenodeids", "nodes_trueleafs", i));
      DEPUTY_ASSIGN_OR_RETURN(node.if_false, Child("nodes_falsenodeids", "nodes_falseleafs", i));
    }
    return {};
  }

  Result<uint32_t> Child(const char* ids, const char* leafs, size_t i) const {
    const int64_t index = primitive_.GetInts(ids)[i];
    const bool is_leaf = primitive_.GetInts(leafs)[i] != 0;
    DEPUTY_RETURN_IF_ERROR(CheckIndex(ids, i, index, is_leaf ? trees_.nodes.size() - count_ : count_));
    return static_cast<uint32_t>(static_cast<size_t>(index) + (is_leaf ? count_ : 0));
  }

  // One set of values for each node of MEMBER, in the order of the nodes; NaN ends a set.
  Status ReadMembers() {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<T> values,
                            RealsOf<T>(primitive_.GetTensor("membership_values"), "membership_values"));
    trees_.members.emplace_back();
    for (const T value : values) {
      if (std::isnan(value))
        trees_.members.emplace_back();
      else
        trees_.members.back().push_back(value);
    }
    if (trees_.members.back().empty()) trees_.members.pop_back();
    uint32_t sets = 0;
    for (size_t i = 0; i < count_; ++i)
      if (trees_.nodes[i].mode == TreeMode::kMember) trees_.nodes[i].set = sets++;
    if (sets != trees_.members.size())
      return Error(StatusCode::kModel,
                   "attribute 'membership_values' has {} sets, expected {}, one for each node of mode 6",
                   trees_.members.size(), sets);
    for (std::vector<T>& set : trees_.members) std::sort(set.begin(), set.end());
    return {};
  }

  const Primitive& primitive_;
  size_t count_ = 0;
  TreeEnsemble<T> trees_;
};

}  // namespace

template <class T>
Result<TreeEnsemble<T>> ReadNumberedTrees(const Primitive& primitive, const std::string& weights, int64_t targets) {
  return NumberedTrees<T>(primitive, weights).Read(targets);
}

template <class T>
Result<TreeEnsemble<T>> ReadIndexedTrees(const Primitive& primitive) {
  return IndexedTrees<T>(primitive).Read();
}

template Result<TreeEnsemble<float>> ReadNumberedTrees(const Primitive&, const std::string&, int64_t);
template Result<TreeEnsemble<double>> ReadNumberedTrees(const Primitive&, const std::string&, int64_t);
template Result<TreeEnsemble<float>> ReadIndexedTrees(const Primitive&);
template Result<TreeEnsemble<double>> ReadIndexedTrees(const Primitive&);

}  // namespace deputy::host
