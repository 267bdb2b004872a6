#include "graph/upgrade/upgrade.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/inference.hpp"
#include "graph/upgrade/adapters.hpp"

namespace deputy::host {
namespace {

// Some rules need types of values between nodes, which a model rarely declares and which inference can tell only of
// upgraded nodes. So the walk infers each node right after upgrading it, for itself: the graph keeps what it declared.
class Upgrader {
 public:
  explicit Upgrader(Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values) {
      scope_.types.push_back(value.type);
      scope_.names.insert(value.name);
    }
    scope_.read.resize(graph.values.size(), 0);
    for (const Node& node : graph.nodes) node.ForEachRead([&](ValueId id) { scope_.read[id] = 1; });
    for (const ValueId id : graph.outputs) scope_.read[id] = 1;
  }

  void SetType(ValueId id, const ValueType& type) {
    // Declared extents may be better than inferred ones; a type that was not declared has none.
    ValueType& known = scope_.types[id];
    if (known.dtype == DType::kUndefined || !known.ranked) known = type;
  }
  const ValueType& type(ValueId id) const { return scope_.types[id]; }

  Status Run() {
    std::vector<Node> upgraded;
    upgraded.reserve(graph_.nodes.size());
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      Status status = Visit(graph_.nodes[id], upgraded);
      if (!status.ok()) return std::move(status).At(Describe(graph_, id));
    }
    graph_.nodes = std::move(upgraded);
    return {};
  }

 private:
  Status Visit(Node& node, std::vector<Node>& upgraded) {
    for (Region& region : node.regions) {
      Status status = VisitRegion(node, region);
      if (!status.ok()) return std::move(status).At("region '" + region.name + "'");
    }
    Rename(node);
    NodeRewrite rewrite(graph_, node, scope_);
    int32_t version = rewrite.version();
    while (const Adapter* adapter = NextAdapter(rewrite.kind(), version)) {
      if (adapter->rule != nullptr) DEPUTY_RETURN_IF_ERROR(adapter->rule(rewrite));
      version = adapter->since_version;
    }
    for (Node& added : rewrite.before()) Keep(std::move(added), upgraded);
    Keep(std::move(node), upgraded);
    for (Node& added : rewrite.after()) Keep(std::move(added), upgraded);
    return {};
  }

  // Scatter was given a new name and nothing else.
  static void Rename(Node& node) {
    if (!node.primitive.domain().empty() || node.primitive.op_type() != "Scatter") return;
    node.primitive = PrimitiveBuilder("", "ScatterElements", 11).Set("axis", node.primitive.GetInt("axis", 0)).Finish();
  }

  void Keep(Node node, std::vector<Node>& upgraded) {
    if (node.regions.empty()) InferTypes(node);
    upgraded.push_back(std::move(node));
  }

  // Bodies are shared by copies of a node, so a changed one is a new one.
  Status VisitRegion(const Node& node, Region& region) {
    auto body = std::make_shared<Graph>(*region.body);
    Upgrader inner(*body);
    for (size_t i = 0; i < region.captures.size(); ++i)
      inner.SetType(body->captured[i], scope_.types[region.captures[i]]);
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
      inputs.push_back(id == kNone ? ValueType() : scope_.types[id]);
      constants.push_back(id == kNone ? Tensor() : graph_.values[id].constant);
    }
    InferenceContext context(node, inputs, constants);
    if (!InferNode(context).ok()) return;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNone) SetType(node.outputs[i], context.outputs()[i]);
  }

  Graph& graph_;
  UpgradeScope scope_;
};

}  // namespace

Status UpgradeGraph(Graph& graph) { return Upgrader(graph).Run(); }

}  // namespace deputy::host
