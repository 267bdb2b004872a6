// InferGraph: one walk that types values, folds known ones, resolves Ifs, types the bodies of Loops and Scans, and
// drops unused nodes.
#include <algorithm>
#include <utility>

#include "base/printable.hpp"
#include "graph/definition.hpp"
#include "graph/describe_node.hpp"
#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "graph/loop_form.hpp"
#include "graph/passes/folding.hpp"
#include "graph/passes/passes.hpp"

namespace deputy::host {
namespace {

// The type of a value made by either of two branches, or before and after a round.
Result<ValueType> Merge(const ValueType& a, const ValueType& b) {
  if (!CommonKind(a.kind, b.kind))
    return Error(StatusCode::kModel, "a value is a sequence in one branch or iteration and a tensor in another");
  if (a.dtype != b.dtype && a.dtype != DType::kUndefined && b.dtype != DType::kUndefined)
    return Error(StatusCode::kModel, "a value has dtype {} in one branch or iteration and {} in another",
                 NameOf(a.dtype), NameOf(b.dtype));
  return CommonType(a, b);
}

void Forget(ValueType& type) { type = {type.dtype, false, {}, type.kind}; }

bool Same(const ValueType& a, const ValueType& b) {
  return a.kind == b.kind && a.ranked == b.ranked && a.dims == b.dims;
}

Status CheckStacked(const ValueType& type) {
  if (IsPacked(type.dtype))
    return Error(StatusCode::kNotSupported, "scan inputs and outputs of packed dtype {} are not supported",
                 NameOf(type.dtype));
  if (type.is_tensor()) return {};
  return Error(StatusCode::kModel, "scan inputs and outputs must be tensors");
}

// The type of one element of a sequence along its axis; unranked where the axis is invalid.
ValueType ElementOf(const ValueType& sequence, int64_t axis) {
  const int64_t rank = static_cast<int64_t>(sequence.dims.size());
  if (axis < 0) axis += rank;
  if (!sequence.ranked || axis < 0 || axis >= rank) return {sequence.dtype, false, {}};
  ValueType element = sequence;
  element.dims.erase(element.dims.begin() + axis);
  return element;
}

ValueType SequenceOf(const ValueType& element, int64_t axis, int64_t length) {
  const int64_t rank = static_cast<int64_t>(element.dims.size()) + 1;
  if (axis < 0) axis += rank;
  if (!element.ranked || axis < 0 || axis >= rank) return {element.dtype, false, {}};
  ValueType sequence = element;
  sequence.dims.insert(sequence.dims.begin() + axis, length);
  return sequence;
}

// The shared budget of all walks over a graph and its regions.
struct WalkBudget {
  FoldBudget folds;
  size_t visits = 0;
  // Visits of nodes that had to be typed again. Nested loops whose states change in each round would double them with
  // each level.
  size_t repeated = 0;
  static constexpr size_t kMostRepeated = 100'000;
};

class Walk {
 public:
  Walk(Graph& graph, const InferenceOptions& options, WalkBudget& budget)
      : graph_(graph), options_(options), budget_(budget), uses_(graph.values.size(), 0) {
    for (const Node& node : graph.nodes) CountReads(node);
    for (const ValueId id : graph.outputs) ++uses_[id];
  }

  Status Run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    graph_.nodes.reserve(nodes.size());
    for (const ValueId id : graph_.inputs) {  // they may be the caller's
      if (Status status = CheckExtents(graph_.values[id].type); !status.ok())
        return std::move(status).At("value '" + Printable(graph_.values[id].name) + "'");
    }
    for (NodeId number = 0; number < nodes.size(); ++number)
      DEPUTY_RETURN_IF_ERROR(Visit(std::move(nodes[number]), number));
    if (options_.drop_unused) DropUnused(graph_);
    return {};
  }

 private:
  // The number of a node is its place in its graph before this walk.
  Status Visit(Node node, NodeId number) {
    ++budget_.visits;
    if (std::optional<Primitive> plain = WithoutEmptyWords(node.primitive)) node.primitive = *std::move(plain);
    const bool repeats = node.kind() == OpKind::kLoop || node.kind() == OpKind::kScan;
    Status status = CheckInputs(node);
    if (status.ok()) status = node.kind() == OpKind::kIf ? VisitIf(node) : repeats ? VisitLoop(node) : VisitPlain(node);
    if (status.ok()) return status;
    return Printable(status, 1000).At(Describe(node, number));  // the message may quote the model
  }

  // What a plugin is shown has passed this check.
  Status CheckInputs(const Node& node) {
    const std::span<const ValueType> inputs = InputTypes(node);
    DEPUTY_RETURN_IF_ERROR(CheckAttributes(node.primitive, inputs));
    return CheckElementTypes(node.primitive, inputs, {});
  }

  // Valid until the next call.
  std::span<const ValueType> InputTypes(const Node& node) {
    const size_t count = node.inputs.size();
    if (types_.size() < count) types_.resize(count);  // assigned, not made anew, so that they keep their memory
    for (size_t i = 0; i < count; ++i) types_[i] = InputType(node, i);
    return {types_.data(), count};
  }

  Status VisitPlain(Node& node) {
    bool known = true;
    const std::span<const ValueType> inputs = InputTypes(node);
    constants_.clear();
    for (const ValueId id : node.inputs) {
      constants_.push_back(id == kNone ? Tensor() : graph_.values[id].constant);
      known = known && (id == kNone || graph_.values[id].is_constant());
    }
    InferenceContext context(node, inputs, constants_, shapes_.InputsOf(node));
    DEPUTY_RETURN_IF_ERROR(InferNode(context));
    DEPUTY_RETURN_IF_ERROR(CheckElementTypes(node.primitive, inputs, context.outputs()));
    if (node.kind() == OpKind::kOther && options_.foreign && AreTensors(node.inputs)) {
      Status status = options_.foreign(context);
      if (!status.ok() && status.code() != StatusCode::kNotSupported) return status;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueType& inferred = context.outputs()[i];
      // Where inference has no result, the declared type stays (a vendor's operator has only that).
      if (node.outputs[i] != kNone && inferred.dtype != DType::kUndefined)
        graph_.values[node.outputs[i]].type = inferred;
    }
    if (options_.fold_shapes && !(known && options_.fold_constants)) {
      std::optional<Tensor> shape = shapes_.Follow(node, context);
      if (shape && options_.evaluator) return Replace(node, {&*shape, 1});
    }
    if (!options_.evaluator || !options_.fold_constants || !known || !node.regions.empty() ||
        node.kind() == OpKind::kOther || !AreTensors(node.outputs))
      return Keep(node);
    DEPUTY_ASSIGN_OR_RETURN(std::optional<std::vector<Tensor>> outputs,
                            FoldNode(graph_, node, constants_, options_.evaluator, FreedBy(node), budget_.folds));
    return outputs ? Replace(node, *outputs) : Keep(node);
  }

  bool AreTensors(const std::vector<ValueId>& ids) const {
    return std::all_of(ids.begin(), ids.end(),
                       [&](ValueId id) { return id == kNone || graph_.values[id].type.is_tensor(); });
  }

  // Bytes of the inputs without other readers.
  size_t FreedBy(const Node& node) const {
    size_t bytes = 0;
    for (const ValueId id : node.inputs)
      if (id != kNone && uses_[id] == 1) bytes += graph_.values[id].constant.byte_size();
    return bytes;
  }

  // Replaces a node by constants.
  Status Replace(const Node& node, std::span<Tensor> outputs) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      Value& value = graph_.values[node.outputs[i]];
      value.type = {outputs[i].dtype(), true, outputs[i].shape()};
      value.constant = std::move(outputs[i]);
    }
    Release(node);
    return {};
  }

  void CountReads(const Node& node) {
    node.ForEachRead([&](ValueId id) { ++uses_[id]; });
  }

  // The node is removed together with constants without other readers, so that intermediate results do not add up.
  void Release(const Node& node) {
    node.ForEachRead([&](ValueId id) {
      if (--uses_[id] == 0) graph_.values[id].constant = Tensor();
    });
  }

  Status VisitIf(Node& node) {
    if (node.regions.size() != 2)
      return Error(StatusCode::kModel, "the attributes then_branch and else_branch are required");
    const Value& condition = graph_.values[node.inputs[0]];
    const auto branch = [&](std::string_view name) {
      return std::find_if(node.regions.begin(), node.regions.end(), [&](const Region& r) { return r.name == name; });
    };
    if (branch("then_branch") == node.regions.end() || branch("else_branch") == node.regions.end())
      return Error(StatusCode::kModel, "the attributes then_branch and else_branch are required");
    if (options_.evaluator && condition.is_constant() && condition.type.dtype == DType::kBool &&
        condition.constant.byte_size() == 1) {
      const bool taken = condition.constant.values<uint8_t>()[0] != 0;
      return Inline(node, *branch(taken ? "then_branch" : "else_branch"));
    }
    DEPUTY_RETURN_IF_ERROR(SpecializeBranches(node));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      const Graph& a = *node.regions[0].body;
      const Graph& b = *node.regions[1].body;
      if (i >= a.outputs.size() || i >= b.outputs.size())
        return Error(StatusCode::kModel, "a branch has {} outputs, the node has {}",
                     std::min(a.outputs.size(), b.outputs.size()), node.outputs.size());
      DEPUTY_ASSIGN_OR_RETURN(graph_.values[node.outputs[i]].type,
                              Merge(a.values[a.outputs[i]].type, b.values[b.outputs[i]].type));
    }
    return Keep(node);
  }

  // The body is typed for the states that enter it. Extents that a round changes become unknown, and the body is typed
  // again, until no round changes them; once the budget is spent, all states are untyped, which no round changes.
  Status VisitLoop(Node& node) {
    if (node.regions.size() != 1) return Error(StatusCode::kModel, "expected one body, got {}", node.regions.size());
    const Region whole = node.regions[0];
    DEPUTY_ASSIGN_OR_RETURN(const LoopForm form, LoopFormOf(node, *whole.body));
    if (!form.is_loop) DEPUTY_RETURN_IF_ERROR(CheckScanInputs(node, form));
    std::vector<ValueType> entries;
    if (form.is_loop) entries = {{DType::kInt64, true, {}}, {DType::kBool, true, {}}};
    for (size_t i = form.before_inputs(); i < node.inputs.size(); ++i) entries.push_back(InputType(node, i));
    int64_t length = kUnknownDim;
    for (size_t i = 0; i < form.scanned_inputs; ++i) {
      ValueType& entry = entries[form.states + i];
      DEPUTY_RETURN_IF_ERROR(CheckStacked(entry));
      const int64_t axis = InputDirection(node, i).axis, rank = static_cast<int64_t>(entry.dims.size());
      if (entry.ranked && axis >= -rank && axis < rank)
        length = std::max(length, entry.dims[static_cast<size_t>(axis < 0 ? axis + rank : axis)]);
      entry = ElementOf(entry, axis);
    }
    for (bool again = true; again;) {
      node.regions[0] = whole;
      if (budget_.repeated > WalkBudget::kMostRepeated)
        for (size_t i = 0; i < form.states; ++i) Forget(entries[form.before_inputs() + i]);
      const size_t before = budget_.visits;
      DEPUTY_RETURN_IF_ERROR(Specialize(node.regions[0], entries));
      const Graph& body = *node.regions[0].body;
      again = false;
      for (size_t i = 0; i < form.states; ++i) {
        ValueType& entry = entries[form.before_inputs() + i];
        DEPUTY_ASSIGN_OR_RETURN(const ValueType merged,
                                Merge(entry, body.values[body.outputs[form.before_outputs() + i]].type));
        again = again || !Same(entry, merged);
        entry = merged;
      }
      if (again) budget_.repeated += budget_.visits - before;
    }
    if (!form.is_loop) DEPUTY_RETURN_IF_ERROR(CheckScanOutputs(node, form));
    const Graph& body = *node.regions[0].body;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      const ValueType& made = body.values[body.outputs[form.before_outputs() + i]].type;
      if (i >= form.states) DEPUTY_RETURN_IF_ERROR(CheckStacked(made));
      const size_t scan = i - form.states;
      graph_.values[node.outputs[i]].type = i < form.states
                                                ? entries[form.before_inputs() + i]
                                                : SequenceOf(made, OutputDirection(node, scan).axis, length);
    }
    return Keep(node);
  }

  // Apart from VisitLoop, whose frame is on the stack once for each level of nested loops.
  [[gnu::noinline]] Status CheckScanInputs(const Node& node, const LoopForm& form) const {
    for (size_t i = 0; i < form.scanned_inputs; ++i)
      DEPUTY_RETURN_IF_ERROR(
          CheckScanAxis("input", i, InputDirection(node, i).axis, InputType(node, form.states + i), 0));
    return {};
  }
  [[gnu::noinline]] Status CheckScanOutputs(const Node& node, const LoopForm& form) const {
    const Graph& body = *node.regions[0].body;
    for (size_t i = 0; i < form.scanned_outputs; ++i)
      DEPUTY_RETURN_IF_ERROR(CheckScanAxis("output", i, OutputDirection(node, i).axis,
                                           body.values[body.outputs[form.states + i]].type, 1));
    return {};
  }
  // Of a sequence whose rank is that of the type and `more`.
  static Status CheckScanAxis(const char* side, size_t i, int64_t axis, const ValueType& type, int64_t more) {
    const int64_t rank = static_cast<int64_t>(type.dims.size()) + more;
    if (!type.ranked || (axis >= -rank && axis < rank)) return {};
    return Error(StatusCode::kModel, "scan {} {} has rank {}, but its scan axis {} is out of range", side, i, rank,
                 axis);
  }

  ValueType InputType(const Node& node, size_t i) const {
    return node.inputs[i] == kNone ? ValueType() : graph_.values[node.inputs[i]].type;
  }

  // Exporters write a branch for other extents beside the one that is taken. A branch that does not fit those of outer
  // values is typed without them and fails only if it is taken: unless no branch fits, or the ranks do not either.
  Status SpecializeBranches(Node& node) {
    const std::vector<Region> whole = node.regions;
    std::vector<Status> failures(whole.size());
    size_t failed = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
      const size_t before = budget_.visits;
      failures[i] = Specialize(node.regions[i]);
      if (failures[i].ok()) continue;
      if (++failed == whole.size() || budget_.repeated > WalkBudget::kMostRepeated) return std::move(failures[i]);
      budget_.repeated += budget_.visits - before + whole[i].body->nodes.size() + whole[i].body->values.size();
    }
    for (size_t i = 0; i < whole.size(); ++i) {
      if (failures[i].ok()) continue;
      node.regions[i] = whole[i];
      if (!Specialize(node.regions[i], {}, CaptureTypes::kWithoutExtents).ok()) return std::move(failures[i]);
    }
    return {};
  }

  enum class CaptureTypes { kKnown, kWithoutExtents };

  // Where conditions are computed as far as shapes tell, none is left that depends on a rank.
  void DropExtents(ValueType& type) const {
    const bool decides = options_.evaluator && options_.fold_constants && options_.fold_shapes;
    if (!decides) return Forget(type);
    std::fill(type.dims.begin(), type.dims.end(), kUnknownDim);
  }

  static std::string PlaceOf(const Region& region) { return "region '" + Printable(region.name) + "'"; }

  // Types a region's body from the known outer values. Captures of constants become constants of the body. `entries`,
  // if not empty, are the types of the body's inputs.
  Status Specialize(Region& region, std::span<const ValueType> entries = {},
                    CaptureTypes capture_types = CaptureTypes::kKnown) {
    auto body = std::make_shared<Graph>(*region.body);
    body->symbols = graph_.symbols;
    for (size_t i = 0; i < entries.size(); ++i) {
      ValueType& declared = body->values[body->inputs[i]].type;
      // The kind is known even if the element type is not; declared extents may be those of another value.
      if (entries[i].dtype != DType::kUndefined || entries[i].kind != declared.kind)
        declared = entries[i];
      else
        Forget(declared);
    }
    std::vector<ValueId> captures, captured;
    for (size_t i = 0; i < region.captures.size(); ++i) {
      const Value& outer = graph_.values[region.captures[i]];
      Value& inner = body->values[body->captured[i]];
      inner.type = outer.type;
      inner.constant = outer.constant;
      if (outer.is_constant()) continue;
      if (capture_types == CaptureTypes::kWithoutExtents) DropExtents(inner.type);
      captures.push_back(region.captures[i]);
      captured.push_back(body->captured[i]);
    }
    region.captures = std::move(captures);
    body->captured = std::move(captured);
    if (Status status = Walk(*body, options_, budget_).Run(); !status.ok())
      return std::move(status).At(PlaceOf(region));
    region.body = std::move(body);
    return {};
  }

  // Replaces the If by the nodes of a branch.
  Status Inline(const Node& node, const Region& region) {
    const Graph& body = *region.body;
    std::vector<ValueId> outer(body.values.size(), kNone);
    for (size_t i = 0; i < region.captures.size(); ++i) outer[body.captured[i]] = region.captures[i];
    const auto map = [&](ValueId inner) {
      if (inner == kNone) return kNone;
      if (outer[inner] == kNone) {
        const Value& value = body.values[inner];
        outer[inner] = graph_.AddValue(value.name, value.type);
        uses_.push_back(0);
        graph_.values[outer[inner]].constant = value.constant;
      }
      return outer[inner];
    };
    std::vector<Node> nodes;
    for (const Node& inner : body.nodes) {
      Node& copy = nodes.emplace_back(inner);
      for (ValueId& id : copy.inputs) id = map(id);
      for (ValueId& id : copy.outputs) id = map(id);
      for (Region& nested : copy.regions)
        for (ValueId& id : nested.captures) id = map(id);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      if (i >= body.outputs.size())
        return Error(StatusCode::kModel, "a branch has {} outputs, the node has {}", body.outputs.size(),
                     node.outputs.size());
      Node& identity = nodes.emplace_back();
      identity.name = node.name.empty() ? std::string() : node.name + "/output_" + std::to_string(i);
      identity.primitive = PrimitiveBuilder("", "Identity", 1).Finish();
      identity.inputs = {map(body.outputs[i])};
      identity.outputs = {node.outputs[i]};
    }
    for (const Node& inner : nodes) CountReads(inner);
    Release(node);
    for (NodeId number = 0; number < nodes.size(); ++number) {
      Status status = Visit(std::move(nodes[number]), number);
      if (!status.ok()) return std::move(status).At(PlaceOf(region));
    }
    return {};
  }

  Status Keep(Node& node) {
    for (const ValueId id : node.outputs)
      if (id != kNone) DEPUTY_RETURN_IF_ERROR(CheckExtents(graph_.values[id].type).At("an output"));
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Graph& graph_;
  const InferenceOptions& options_;
  WalkBudget& budget_;
  ShapeTracker shapes_;
  std::vector<uint32_t> uses_;  // reads by nodes that are left, regions and outputs
  std::vector<ValueType> types_;
  std::vector<Tensor> constants_;
};

}  // namespace

Status InferGraph(Graph& graph, const InferenceOptions& options) {
  WalkBudget budget{FoldBudget(options.fold_budget_bytes)};
  return Walk(graph, options, budget).Run();
}

}  // namespace deputy::host
