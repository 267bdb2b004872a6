// InferGraph: one walk that types values, folds what is known, resolves Ifs and drops what is not needed.
#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "graph/inference.hpp"

namespace deputy::host {
namespace {

// Extents that hold whichever of the two branches runs.
ValueType Merge(const ValueType& a, const ValueType& b) {
  if (!a.ranked || !b.ranked || a.dims.size() != b.dims.size()) return {a.dtype, false, {}};
  ValueType merged = a;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (a.dims[i] != b.dims[i]) merged.dims[i] = kUnknownDim;
  return merged;
}

class Walk {
 public:
  Walk(Graph& graph, const InferenceOptions& options) : graph_(graph), options_(options) {}

  Status Run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) DEPUTY_RETURN_IF_ERROR(Visit(std::move(node)));
    Prune();
    return {};
  }

 private:
  Status Visit(Node node) {
    Status status = node.kind() == OpKind::kIf ? VisitIf(node) : VisitPlain(node);
    if (status.ok()) return status;
    return std::move(status).At(node.name.empty()
                                    ? "node (" + std::string(node.primitive.op_type()) + ")"
                                    : "node '" + node.name + "' (" + std::string(node.primitive.op_type()) + ")");
  }

  Status VisitPlain(Node& node) {
    types_.clear();
    constants_.clear();
    bool known = true;
    for (const ValueId id : node.inputs) {
      types_.push_back(id == kNone ? ValueType() : graph_.values[id].type);
      constants_.push_back(id == kNone ? Tensor() : graph_.values[id].constant);
      known = known && (id == kNone || graph_.values[id].is_constant());
    }
    InferenceContext context(node, types_, constants_);
    DEPUTY_RETURN_IF_ERROR(InferNode(context));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueType& inferred = context.outputs()[i];
      // What inference cannot tell stays as the model declared it (a vendor's operator has only that).
      if (node.outputs[i] != kNone && inferred.dtype != DType::kUndefined)
        graph_.values[node.outputs[i]].type = inferred;
    }
    if (!options_.evaluator) return Keep(node);
    if (node.kind() == OpKind::kShape || node.kind() == OpKind::kSize) return FoldExtents(node);
    if (!known || !node.regions.empty() || node.kind() == OpKind::kOther || !WithinBudget(node)) return Keep(node);
    Result<std::vector<Tensor>> outputs = options_.evaluator(node, constants_);
    if (!outputs.ok()) {
      // What the CPU cannot compute may still run on a delegate; a wrong value is the model's fault either way.
      if (outputs.status().code() == StatusCode::kNotSupported) return Keep(node);
      return std::move(outputs).status();
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNone) SetConstant(node.outputs[i], std::move((*outputs)[i]));
    return {};
  }

  // Shape and Size depend on the extents of their input only.
  Status FoldExtents(Node& node) {
    const ValueType& input = graph_.values[node.inputs[0]].type;
    if (!input.is_static()) return Keep(node);
    std::vector<int64_t> result;
    if (node.kind() == OpKind::kSize) {
      result.push_back(ElementCount(input.dims));
    } else {
      const int64_t rank = static_cast<int64_t>(input.dims.size());
      const auto clamp = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
      const int64_t start = clamp(node.primitive.GetInt("start", 0)), end = clamp(node.primitive.GetInt("end", rank));
      for (int64_t i = start; i < end; ++i) result.push_back(input.dims[static_cast<size_t>(i)]);
    }
    Shape shape;
    if (node.kind() == OpKind::kShape) shape.push_back(static_cast<int64_t>(result.size()));
    DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::FromValues<int64_t>(DType::kInt64, shape, result));
    SetConstant(node.outputs[0], std::move(tensor));
    return {};
  }

  Status VisitIf(Node& node) {
    if (node.regions.size() != 2) return Error(StatusCode::kModel, "an If needs a then and an else branch");
    const Value& condition = graph_.values[node.inputs[0]];
    const auto branch = [&](std::string_view name) {
      return std::find_if(node.regions.begin(), node.regions.end(), [&](const Region& r) { return r.name == name; });
    };
    if (branch("then_branch") == node.regions.end() || branch("else_branch") == node.regions.end())
      return Error(StatusCode::kModel, "an If needs a then and an else branch");
    if (options_.evaluator && condition.is_constant() && condition.type.dtype == DType::kBool &&
        condition.constant.byte_size() == 1) {
      const bool taken = condition.constant.values<uint8_t>()[0] != 0;
      return Inline(node, *branch(taken ? "then_branch" : "else_branch"));
    }
    for (Region& region : node.regions) DEPUTY_RETURN_IF_ERROR(Specialize(region));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      const Graph& a = *node.regions[0].body;
      const Graph& b = *node.regions[1].body;
      if (i >= a.outputs.size() || i >= b.outputs.size())
        return Error(StatusCode::kModel, "a branch has {} outputs, the node {}", a.outputs.size(), node.outputs.size());
      graph_.values[node.outputs[i]].type = Merge(a.values[a.outputs[i]].type, b.values[b.outputs[i]].type);
    }
    return Keep(node);
  }

  // Types a region's body with what is known outside. Captures of constants become constants of the body.
  Status Specialize(Region& region) {
    auto body = std::make_shared<Graph>(*region.body);
    body->symbols = graph_.symbols;
    std::vector<ValueId> captures, captured;
    for (size_t i = 0; i < region.captures.size(); ++i) {
      const Value& outer = graph_.values[region.captures[i]];
      Value& inner = body->values[body->captured[i]];
      inner.type = outer.type;
      inner.constant = outer.constant;
      if (outer.is_constant()) continue;
      captures.push_back(region.captures[i]);
      captured.push_back(body->captured[i]);
    }
    region.captures = std::move(captures);
    body->captured = std::move(captured);
    DEPUTY_RETURN_IF_ERROR(InferGraph(*body, options_));
    region.body = std::move(body);
    return {};
  }

  // Puts the nodes of a branch in the place of the If.
  Status Inline(const Node& node, const Region& region) {
    const Graph& body = *region.body;
    std::vector<ValueId> outer(body.values.size(), kNone);
    for (size_t i = 0; i < region.captures.size(); ++i) outer[body.captured[i]] = region.captures[i];
    const auto map = [&](ValueId inner) {
      if (inner == kNone) return kNone;
      if (outer[inner] == kNone) {
        const Value& value = body.values[inner];
        outer[inner] = graph_.AddValue(value.name, value.type);
        graph_.values[outer[inner]].constant = value.constant;
      }
      return outer[inner];
    };
    for (const Node& inner : body.nodes) {
      Node copy = inner;
      for (ValueId& id : copy.inputs) id = map(id);
      for (ValueId& id : copy.outputs) id = map(id);
      for (Region& nested : copy.regions)
        for (ValueId& id : nested.captures) id = map(id);
      DEPUTY_RETURN_IF_ERROR(Visit(std::move(copy)));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      if (i >= body.outputs.size())
        return Error(StatusCode::kModel, "a branch has {} outputs, the node {}", body.outputs.size(),
                     node.outputs.size());
      Node identity;
      identity.name = node.name.empty() ? std::string() : node.name + "/output_" + std::to_string(i);
      identity.primitive = PrimitiveBuilder("", "Identity", 1).Finish();
      identity.inputs = {map(body.outputs[i])};
      identity.outputs = {node.outputs[i]};
      DEPUTY_RETURN_IF_ERROR(Visit(std::move(identity)));
    }
    return {};
  }

  bool WithinBudget(const Node& node) const {
    for (const ValueId id : node.outputs) {
      if (id == kNone) continue;
      const ValueType& type = graph_.values[id].type;
      if (!type.is_static()) continue;  // data-dependent: bounded by its inputs
      const std::optional<int64_t> count = CheckedElementCount(type.dims);
      if (!count ||
          static_cast<uint64_t>(*count) > options_.fold_budget_bytes / std::max<size_t>(1, SizeOf(type.dtype)))
        return false;
    }
    return true;
  }

  void SetConstant(ValueId id, Tensor tensor) {
    Value& value = graph_.values[id];
    value.type = {tensor.dtype(), true, tensor.shape()};
    value.constant = std::move(tensor);
  }

  Status Keep(Node& node) {
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  void Prune() {
    std::vector<uint8_t> needed(graph_.values.size(), 0);
    for (const ValueId id : graph_.outputs) needed[id] = 1;
    std::vector<uint8_t> keep(graph_.nodes.size(), 0);
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      keep[i] =
          std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return id != kNone && needed[id]; });
      if (keep[i]) node.ForEachRead([&](ValueId id) { needed[id] = 1; });
    }
    size_t kept = 0;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!keep[i]) continue;
      if (kept != i) graph_.nodes[kept] = std::move(graph_.nodes[i]);
      ++kept;
    }
    graph_.nodes.resize(kept);
    for (ValueId id = 0; id < graph_.values.size(); ++id)
      if (!needed[id]) graph_.values[id].constant = Tensor();
  }

  Graph& graph_;
  const InferenceOptions& options_;
  std::vector<ValueType> types_;
  std::vector<Tensor> constants_;
};

}  // namespace

Status InferGraph(Graph& graph, const InferenceOptions& options) { return Walk(graph, options).Run(); }

}  // namespace deputy::host
