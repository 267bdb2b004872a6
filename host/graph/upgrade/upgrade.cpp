#include "graph/upgrade/upgrade.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/definition.hpp"
#include "graph/inference.hpp"
#include "graph/upgrade/adapters.hpp"
#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {
namespace {

// Scatter was only renamed.
bool IsScatter(const Node& node) { return node.primitive.domain().empty() && node.primitive.op_type() == "Scatter"; }

bool HasRule(OpKind kind, int32_t version) {
  while (const Adapter* adapter = NextAdapter(kind, version)) {
    if (adapter->rule != nullptr) return true;
    version = adapter->since_version;
  }
  return false;
}

// Whether the walk could change a node: most models are of definitions that no rule rewrites.
bool NeedsUpgrade(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return HasRule(node.kind(), node.primitive.since_version()) || node.kind() == OpKind::kSequenceMap ||
           IsScatter(node) || std::any_of(node.regions.begin(), node.regions.end(), [](const Region& region) {
             return NeedsUpgrade(*region.body);
           });
  });
}

// Some rules need types of values between nodes, which a model rarely declares and which inference can tell only of
// upgraded nodes. So the walk infers each node right after upgrading it, for itself: the graph keeps its declared
// types.
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
    if (type.dtype != DType::kUndefined && (known.dtype == DType::kUndefined || !known.ranked)) known = type;
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
    DEPUTY_RETURN_IF_ERROR(CheckRequiredAttributes(node.primitive));
    Rename(node);
    NodeRewrite rewrite(graph_, node, scope_);
    int32_t version = rewrite.version();
    while (const Adapter* adapter = NextAdapter(rewrite.kind(), version)) {
      if (adapter->rule != nullptr) DEPUTY_RETURN_IF_ERROR(adapter->rule(rewrite));
      version = adapter->since_version;
    }
    if (node.kind() == OpKind::kSequenceMap) DEPUTY_RETURN_IF_ERROR(ExpandSequenceMap(rewrite));
    for (Node& added : rewrite.before()) added.source = node.source;
    for (Node& added : rewrite.after()) added.source = node.source;
    for (Node& added : rewrite.before()) Keep(std::move(added), upgraded);
    Keep(std::move(node), upgraded);
    for (Node& added : rewrite.after()) Keep(std::move(added), upgraded);
    return {};
  }

  static void Rename(Node& node) {
    if (!IsScatter(node)) return;
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
    for (size_t i = 0; i < node.inputs.size() && i < body->inputs.size(); ++i)
      if (node.inputs[i] != kNone && inner.type(body->inputs[i]).dtype == DType::kUndefined)
        inner.SetType(body->inputs[i], InBody(node.kind(), i, scope_.types[node.inputs[i]]));
    DEPUTY_RETURN_IF_ERROR(inner.Run());
    // The additional output of a Loop's body is the condition.
    const size_t before = node.kind() == OpKind::kLoop ? 1 : 0;
    for (size_t i = 0; i < node.outputs.size() && i + before < body->outputs.size(); ++i)
      if (node.outputs[i] != kNone) SetType(node.outputs[i], OfNode(node, i, inner.type(body->outputs[i + before])));
    if (node.kind() == OpKind::kSequenceMap)
      for (const ValueId id : body->outputs) body->values[id].type = inner.type(id);
    region.body = std::move(body);
    return {};
  }

  // The type of input `i` in the body. Extents may depend on the branch or the round; kind and element type do not.
  static ValueType InBody(OpKind kind, size_t i, const ValueType& outside) {
    if (kind == OpKind::kLoop && i >= 2) return {outside.dtype, false, {}, outside.kind};
    if (kind == OpKind::kSequenceMap) return {outside.dtype, false, {}};
    return {};
  }

  // The node's type of an output of its body.
  static ValueType OfNode(const Node& node, size_t i, const ValueType& inside) {
    if (node.kind() == OpKind::kSequenceMap) return {inside.dtype, false, {}, ValueKind::kSequence};
    const bool carried = node.kind() == OpKind::kIf || (node.kind() == OpKind::kLoop && i + 2 < node.inputs.size());
    return carried ? ValueType{inside.dtype, false, {}, inside.kind} : ValueType();
  }

  // Errors of the node are reported by the real inference.
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

Status UpgradeGraph(Graph& graph) {
  if (NeedsUpgrade(graph)) DEPUTY_RETURN_IF_ERROR(Upgrader(graph).Run());
  DropAddedDefaults(graph);
  return {};
}

}  // namespace deputy::host
