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

// The context of a rule besides its node.
struct UpgradeScope {
  std::vector<ValueType> types;           // of the graph's values as known so far, by id
  std::vector<uint8_t> read;              // by id: whether it is read; later values are not listed
  std::unordered_set<std::string> names;  // taken in the graph
};

class NodeRewrite {
 public:
  NodeRewrite(Graph& graph, Node& node, UpgradeScope& scope) : graph_(graph), node_(node), scope_(scope) {}

  Node& node() { return node_; }
  const Primitive& primitive() const { return node_.primitive; }
  OpKind kind() const { return node_.kind(); }
  int32_t version() const { return node_.primitive.since_version(); }

  bool has_input(size_t i) const { return i < node_.inputs.size() && node_.inputs[i] != kNone; }
  ValueId input(size_t i) const { return has_input(i) ? node_.inputs[i] : kNone; }
  // An untyped result for an omitted input.
  ValueType input_type(size_t i) const;
  const Tensor* constant(size_t i) const;

  // Gives input `i` a new constant. `suffix` ends its name.
  Status SetInts(size_t i, std::string_view suffix, std::span<const int64_t> values);
  // A scalar of the type of input 0; fails when that is not known or not floating point.
  Status SetScalar(size_t i, std::string_view suffix, float value);
  void SetConstant(size_t i, std::string_view suffix, Tensor tensor);
  // kNone: the input is left out.
  void SetInput(size_t i, ValueId id);
  // A constant of the graph, to be read by added nodes.
  ValueId AddConstant(std::string_view suffix, Tensor tensor);

  void SetPrimitive(const PrimitiveBuilder& builder) { node_.primitive = builder.Finish(); }
  void SetVersion(int32_t version) { SetPrimitive(PrimitiveBuilder(node_.primitive).SetVersion(version)); }
  // Removes all outputs but the first; false when one of them is read.
  bool DropExtraOutputs();

  // Adds a node of a newest definition before this one; returns its output.
  ValueId AddBefore(std::string_view suffix, const PrimitiveBuilder& builder, std::vector<ValueId> inputs);
  // Adds a node after this one which makes output `i` from the former output of this node, then `others`.
  void AddAfter(std::string_view suffix, const PrimitiveBuilder& builder, std::vector<ValueId> others, size_t i = 0);
  std::vector<Node>& before() { return before_; }
  std::vector<Node>& after() { return after_; }

 private:
  std::string UniqueName(std::string_view suffix);

  Graph& graph_;
  Node& node_;
  UpgradeScope& scope_;
  std::vector<Node> before_, after_;
};

using UpgradeRule = Status (*)(NodeRewrite&);

// Definitions before opset 7 (legacy.cpp).
Status DropConsumedInputs(NodeRewrite& node);
Status UpgradeCast(NodeRewrite& node);
Status UpgradeConcat(NodeRewrite& node);
Status UpgradeGemm(NodeRewrite& node);
Status UpgradePower(NodeRewrite& node);      // LpPool and GlobalLpPool
Status UpgradeRecurrent(NodeRewrite& node);  // RNN, GRU and LSTM
Status UpgradeSelu(NodeRewrite& node);
Status UpgradeTile(NodeRewrite& node);

// Broadcasting from an axis on (broadcast.cpp).
Status UpgradeBroadcast(NodeRewrite& node);
Status UpgradePRelu(NodeRewrite& node);

// Attributes that became inputs (attributes.cpp).
Status UpgradeClip(NodeRewrite& node);
Status UpgradePad1(NodeRewrite& node);
Status UpgradePad(NodeRewrite& node);
Status UpgradeReduce(NodeRewrite& node);
Status UpgradeReshape(NodeRewrite& node);
Status UpgradeSlice(NodeRewrite& node);
Status UpgradeSplit1(NodeRewrite& node);
Status UpgradeSplit(NodeRewrite& node);
Status UpgradeSqueeze(NodeRewrite& node);  // and Unsqueeze
Status UpgradeTopK(NodeRewrite& node);

// Upsample and Resize (resize.cpp).
Status UpgradeUpsample1(NodeRewrite& node);
Status UpgradeUpsample7(NodeRewrite& node);
Status UpgradeUpsample9(NodeRewrite& node);
Status UpgradeResize(NodeRewrite& node);

// Operators that once trained (training.cpp).
Status DropIsTest(NodeRewrite& node);
Status UpgradeBatchNormalization7(NodeRewrite& node);
Status UpgradeBatchNormalization9(NodeRewrite& node);
Status UpgradeDropout7(NodeRewrite& node);
Status UpgradeDropout10(NodeRewrite& node);

// Operators that read their input in another way (softmax.cpp, one_hot.cpp).
Status UpgradeSoftmax(NodeRewrite& node);  // LogSoftmax and Hardmax too
Status UpgradeOneHot(NodeRewrite& node);

// Scan over batches, and SequenceMap, which is a function in ONNX's own terms: it becomes that Loop over the elements,
// so that only the importers know of it (loops.cpp). The body's outputs must have their element types; kNotSupported
// where a needed type is not known.
Status UpgradeScan(NodeRewrite& node);
Status ExpandSequenceMap(NodeRewrite& node);

// Whether these are int64 or int32 elements, none below zero; false for null, which is unknown.
bool KnownNotNegative(const Tensor* integers);

// Drops attributes that a definition later than the operator's first added, where they hold their defaults; in regions
// too.
void DropAddedDefaults(Graph& graph);

}  // namespace deputy::host
