#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"
#include "graph/graph.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxDepth = 32;

class Verifier {
 public:
  Verifier(const Graph& graph, size_t depth) : graph_(graph), depth_(depth), available_(graph.values.size(), 0) {}

  Status Run() {
    if (depth_ > kMaxDepth) return Error(StatusCode::kModel, "regions are nested deeper than {}", kMaxDepth);
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      DEPUTY_RETURN_IF_ERROR(CheckValue(id));
      available_[id] = graph_.values[id].is_constant();
    }
    for (const ValueId id : graph_.inputs) DEPUTY_RETURN_IF_ERROR(Provide(id, "a graph input"));
    for (const ValueId id : graph_.captured) DEPUTY_RETURN_IF_ERROR(Provide(id, "a captured value"));
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      Status status = CheckNode(graph_.nodes[node]);
      if (!status.ok()) return std::move(status).At(Describe(graph_, node));
    }
    for (const ValueId id : graph_.outputs) {
      if (id >= graph_.values.size())
        return Error(StatusCode::kModel, "value index {} of a graph output is out of range", id);
      if (!available_[id])
        return Error(StatusCode::kModel, "output '{}' is not produced by any node", graph_.values[id].name);
    }
    return CheckStates();
  }

 private:
  Status CheckValue(ValueId id) const {
    const Value& value = graph_.values[id];
    if (Status status = CheckExtents(value.type); !status.ok())
      return std::move(status).At("value '" + Printable(value.name) + "'");
    for (const int64_t dim : value.type.dims)
      if (IsSymbol(dim) && SymbolIndex(dim) >= graph_.symbols.size())
        return Error(StatusCode::kModel, "value '{}' has an undefined symbolic extent", value.name);
    if (static_cast<uint32_t>(value.type.kind) > static_cast<uint32_t>(ValueKind::kOptionalSequence))
      return Error(StatusCode::kModel, "value '{}' has an unknown kind", value.name);
    if (!value.is_constant()) return {};
    if (!value.type.is_tensor() || value.constant.dtype() != value.type.dtype ||
        value.constant.shape() != value.type.dims)
      return Error(StatusCode::kModel, "constant '{}' does not match its declared type", value.name);
    return {};
  }

  Status CheckStates() const {
    const size_t states = graph_.initial_states.size();
    if (states == 0) return {};
    if (depth_ != 0 || states > graph_.inputs.size() || states > graph_.outputs.size())
      return Error(
          StatusCode::kModel,
          "the graph has {} states, but {} inputs and {} outputs; states are only allowed in the outermost graph",
          states, graph_.inputs.size(), graph_.outputs.size());
    for (size_t i = 0; i < states; ++i) {
      const Tensor& initial = graph_.initial_states[i];
      const Value& input = graph_.values[graph_.inputs[graph_.caller_inputs().size() + i]];
      if (initial.empty() || !input.type.is_static() || initial.dtype() != input.type.dtype ||
          initial.shape() != input.type.dims)
        return Error(StatusCode::kModel, "the type of state '{}' differs from that of its initial value", input.name);
    }
    return {};
  }

  Status Provide(ValueId id, const char* role) {
    if (id >= graph_.values.size())
      return Error(StatusCode::kModel, "{} refers to value {}, which does not exist", role, id);
    if (available_[id])
      return Error(StatusCode::kModel, "value '{}' is defined more than once", graph_.values[id].name);
    available_[id] = 1;
    return {};
  }

  Status Read(ValueId id) const {
    if (id >= graph_.values.size())
      return Error(StatusCode::kModel, "an input refers to value {}, which does not exist", id);
    if (!available_[id])
      return Error(StatusCode::kModel, "input '{}' is used before it is produced", graph_.values[id].name);
    return {};
  }

  Status CheckNode(const Node& node) {
    if (const OperatorInfo* info = InfoOf(node.kind())) {
      const OperandCounts counts = info->CountsAt(node.primitive.since_version());
      DEPUTY_RETURN_IF_ERROR(CheckCount(node, "inputs", node.inputs.size(), counts.min_inputs, counts.max_inputs));
      DEPUTY_RETURN_IF_ERROR(CheckCount(node, "outputs", node.outputs.size(), info->min_outputs, counts.max_outputs));
      // A Loop has inputs for its count and condition, and Scan-8 one for lengths, which may be empty.
      const bool may_begin_without =
          node.kind() == OpKind::kLoop || (node.kind() == OpKind::kScan && node.primitive.since_version() < 9);
      const size_t required = may_begin_without ? 0 : info->min_inputs;
      for (size_t i = 0; i < required; ++i)
        if (node.inputs[i] == kNone) return Error(StatusCode::kModel, "input {} is missing", i);
    }
    for (const ValueId id : node.inputs)
      if (id != kNone) DEPUTY_RETURN_IF_ERROR(Read(id));
    DEPUTY_RETURN_IF_ERROR(CheckRegionNames(node));
    for (const Region& region : node.regions) {
      if (region.body == nullptr || region.captures.size() != region.body->captured.size())
        return Error(StatusCode::kModel, "region '{}' has a wrong number of captured values", region.name);
      if (node.kind() == OpKind::kIf && !region.body->inputs.empty())
        return Error(StatusCode::kModel, "region '{}' has inputs, which a branch does not have", region.name);
      for (const ValueId id : region.captures) DEPUTY_RETURN_IF_ERROR(Read(id));
      Status status = Verifier(*region.body, depth_ + 1).Run();
      if (!status.ok()) return std::move(status).At("region '" + region.name + "'");
    }
    for (const ValueId id : node.outputs)
      if (id != kNone) DEPUTY_RETURN_IF_ERROR(Provide(id, "an output"));
    return {};
  }

  // Plans find a region by its name. An operator that is not known here may have any.
  static Status CheckRegionNames(const Node& node) {
    const auto has = [&](std::string_view name) {
      return std::any_of(node.regions.begin(), node.regions.end(), [&](const Region& r) { return r.name == name; });
    };
    switch (node.kind()) {
      case OpKind::kOther: return {};
      case OpKind::kIf:
        if (node.regions.size() == 2 && has("then_branch") && has("else_branch")) return {};
        return Error(StatusCode::kModel, "the attributes then_branch and else_branch are required");
      case OpKind::kLoop:
      case OpKind::kScan:
      case OpKind::kSequenceMap:
        if (node.regions.size() == 1 && has("body")) return {};
        return Error(StatusCode::kModel, "the attribute body is required, and no other graph");
      default:
        if (node.regions.empty()) return {};
        return Error(StatusCode::kModel, "has the graph '{}' as an attribute, which the operator does not have",
                     node.regions.front().name);
    }
  }

  static Status CheckCount(const Node& node, const char* noun, size_t count, uint32_t least, uint32_t most) {
    if (count >= least && count <= most) return {};
    const auto refuse = [&](const std::string& needed) {
      return Error(StatusCode::kModel, "has {} {}, {}-{} needs {}", count, noun, node.primitive.op_type(),
                   node.primitive.since_version(), needed);
    };
    if (least == most) return refuse(std::to_string(least));
    return refuse(most == kVariadic ? fmt::format("at least {}", least) : fmt::format("{} to {}", least, most));
  }

  const Graph& graph_;
  const size_t depth_;
  std::vector<uint8_t> available_;
};

}  // namespace

Status VerifyGraph(const Graph& graph) { return Printable(Verifier(graph, 0).Run()); }

}  // namespace deputy::host
