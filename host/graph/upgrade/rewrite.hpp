// One node while it is being upgraded, and the rules, a function per operator or family.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host {

class NodeRewrite {
 public:
  // `types` are what is known of the graph's values so far, by id; `names` those taken in the graph.
  NodeRewrite(Graph& graph, Node& node, std::span<const ValueType> types, std::unordered_set<std::string>& names)
      : graph_(graph), node_(node), types_(types), names_(names) {}

  const Primitive& primitive() const { return node_.primitive; }
  OpKind kind() const { return node_.kind(); }
  int32_t version() const { return node_.primitive.since_version(); }

  bool has_input(size_t i) const { return i < node_.inputs.size() && node_.inputs[i] != kNone; }
  // Nothing known for an input that is left out.
  ValueType input_type(size_t i) const;
  const Tensor* constant(size_t i) const;
  size_t input_count() const { return node_.inputs.size(); }

  // Gives input `i` a new constant. `what` goes into its name.
  Status SetInts(size_t i, std::string_view what, std::span<const int64_t> values);
  // A scalar of the type of input 0; fails when that is not known or not floating point.
  Status SetScalar(size_t i, std::string_view what, float value);
  void SetConstant(size_t i, std::string_view what, Tensor tensor);

  void SetPrimitive(const PrimitiveBuilder& builder) { node_.primitive = builder.Finish(); }
  // Leaves out all outputs but the first; false when somebody reads one of them.
  bool DropExtraOutputs();

 private:
  bool IsRead(ValueId id) const;

  Graph& graph_;
  Node& node_;
  std::span<const ValueType> types_;
  std::unordered_set<std::string>& names_;
};

using UpgradeRule = Status (*)(NodeRewrite&);

// Definitions before opset 7 (legacy.cpp).
Status DropConsumedInputs(NodeRewrite& node);
Status UpgradeLegacyBroadcast(NodeRewrite& node);
Status UpgradeGemm(NodeRewrite& node);
Status UpgradePRelu(NodeRewrite& node);
Status UpgradeTile(NodeRewrite& node);

// Attributes that became inputs (attributes.cpp).
Status UpgradeClip(NodeRewrite& node);
Status UpgradePad(NodeRewrite& node);
Status UpgradeReduce(NodeRewrite& node);
Status UpgradeReshape(NodeRewrite& node);
Status UpgradeSlice(NodeRewrite& node);
Status UpgradeSplit(NodeRewrite& node);
Status UpgradeSqueeze(NodeRewrite& node);  // and Unsqueeze
Status UpgradeTopK(NodeRewrite& node);
Status UpgradeUpsample(NodeRewrite& node);

// Operators that once trained, and the softmax family (normalization.cpp).
Status UpgradeBatchNormalization(NodeRewrite& node);
Status UpgradeDropout(NodeRewrite& node);
Status UpgradeSoftmax(NodeRewrite& node);

}  // namespace deputy::host
