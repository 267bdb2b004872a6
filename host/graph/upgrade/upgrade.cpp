#include "graph/upgrade/upgrade.hpp"

#include <array>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/inference.hpp"
#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {
namespace {

struct Entry {
  OpKind kind;
  UpgradeRule rule;
};

constexpr auto kRules = std::to_array<Entry>({
    {OpKind::kAdd, UpgradeLegacyBroadcast},
    {OpKind::kAnd, UpgradeLegacyBroadcast},
    {OpKind::kBatchNormalization, UpgradeBatchNormalization},
    {OpKind::kClip, UpgradeClip},
    {OpKind::kDiv, UpgradeLegacyBroadcast},
    {OpKind::kDropout, UpgradeDropout},
    {OpKind::kEqual, UpgradeLegacyBroadcast},
    {OpKind::kGemm, UpgradeGemm},
    {OpKind::kGreater, UpgradeLegacyBroadcast},
    {OpKind::kHardmax, UpgradeSoftmax},
    {OpKind::kLess, UpgradeLegacyBroadcast},
    {OpKind::kLogSoftmax, UpgradeSoftmax},
    {OpKind::kMul, UpgradeLegacyBroadcast},
    {OpKind::kOr, UpgradeLegacyBroadcast},
    {OpKind::kPRelu, UpgradePRelu},
    {OpKind::kPad, UpgradePad},
    {OpKind::kPow, UpgradeLegacyBroadcast},
    {OpKind::kReduceL1, UpgradeReduce},
    {OpKind::kReduceL2, UpgradeReduce},
    {OpKind::kReduceLogSum, UpgradeReduce},
    {OpKind::kReduceLogSumExp, UpgradeReduce},
    {OpKind::kReduceMax, UpgradeReduce},
    {OpKind::kReduceMean, UpgradeReduce},
    {OpKind::kReduceMin, UpgradeReduce},
    {OpKind::kReduceProd, UpgradeReduce},
    {OpKind::kReduceSum, UpgradeReduce},
    {OpKind::kReduceSumSquare, UpgradeReduce},
    {OpKind::kReshape, UpgradeReshape},
    {OpKind::kSlice, UpgradeSlice},
    {OpKind::kSoftmax, UpgradeSoftmax},
    {OpKind::kSplit, UpgradeSplit},
    {OpKind::kSqueeze, UpgradeSqueeze},
    {OpKind::kSub, UpgradeLegacyBroadcast},
    {OpKind::kTile, UpgradeTile},
    {OpKind::kTopK, UpgradeTopK},
    {OpKind::kUnsqueeze, UpgradeSqueeze},
    {OpKind::kUpsample, UpgradeUpsample},
    {OpKind::kXor, UpgradeLegacyBroadcast},
});

// Some rules need types of values between nodes, which a model rarely declares and which inference can tell only of
// upgraded nodes. So the walk infers each node right after upgrading it, for itself: the graph keeps what it declared.
class Upgrader {
 public:
  explicit Upgrader(Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values) {
      types_.push_back(value.type);
      names_.insert(value.name);
    }
  }

  void SetType(ValueId id, const ValueType& type) {
    // Declared extents may be better than inferred ones; a type that was not declared has none.
    if (types_[id].dtype == DType::kUndefined || !types_[id].ranked) types_[id] = type;
  }
  const ValueType& type(ValueId id) const { return types_[id]; }

  Status Run() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      Status status = Visit(graph_.nodes[id]);
      if (!status.ok()) return std::move(status).At(Describe(graph_, id));
    }
    return {};
  }

 private:
  Status Visit(Node& node) {
    for (Region& region : node.regions) {
      Status status = VisitRegion(node, region);
      if (!status.ok()) return std::move(status).At("region '" + region.name + "'");
    }
    NodeRewrite rewrite(graph_, node, types_, names_);
    DEPUTY_RETURN_IF_ERROR(DropConsumedInputs(rewrite));
    for (const Entry& entry : kRules)
      if (entry.kind == node.kind()) DEPUTY_RETURN_IF_ERROR(entry.rule(rewrite));
    for (size_t id = types_.size(); id < graph_.values.size(); ++id) types_.push_back(graph_.values[id].type);
    if (node.regions.empty()) InferTypes(node);
    return {};
  }

  // Bodies are shared by copies of a node, so a changed one is a new one.
  Status VisitRegion(const Node& node, Region& region) {
    auto body = std::make_shared<Graph>(*region.body);
    Upgrader inner(*body);
    for (size_t i = 0; i < region.captures.size(); ++i) inner.SetType(body->captured[i], types_[region.captures[i]]);
    DEPUTY_RETURN_IF_ERROR(inner.Run());
    // Extents may depend on the branch or the round; the element type does not.
    for (size_t i = 0; i < node.outputs.size() && i < body->outputs.size(); ++i)
      if (node.kind() == OpKind::kIf && node.outputs[i] != kNone)
        SetType(node.outputs[i], {inner.type(body->outputs[i]).dtype, false, {}});
    region.body = std::move(body);
    return {};
  }

  // What is wrong with the node is for the real inference to say.
  void InferTypes(const Node& node) {
    std::vector<ValueType> inputs;
    std::vector<Tensor> constants;
    for (const ValueId id : node.inputs) {
      inputs.push_back(id == kNone ? ValueType() : types_[id]);
      constants.push_back(id == kNone ? Tensor() : graph_.values[id].constant);
    }
    InferenceContext context(node, inputs, constants);
    if (!InferNode(context).ok()) return;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNone) SetType(node.outputs[i], context.outputs()[i]);
  }

  Graph& graph_;
  std::vector<ValueType> types_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Status UpgradeGraph(Graph& graph) { return Upgrader(graph).Run(); }

}  // namespace deputy::host
