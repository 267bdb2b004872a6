// Graphs, plans and placements as text for `debug: {dump}`.
#include <fmt/format.h>

#include <string_view>
#include <variant>

#include "base/printable.hpp"
#include "runtime/dump.hpp"
#include "runtime/model_state.hpp"

namespace deputy::host {
namespace {

std::string Shown(std::string_view text) { return Printable(text, SIZE_MAX); }

std::string ValueNames(const Graph& graph, std::span<const ValueId> ids) {
  std::string list;
  for (const ValueId id : ids) {
    if (!list.empty()) list += ", ";
    if (id == kNone) {
      list += "-";
    } else {
      list += graph.values[id].name.empty() ? fmt::format("value {}", id) : Shown(graph.values[id].name);
    }
  }
  return list;
}

template <class T>
std::string Shortened(const std::vector<T>& list) {
  constexpr size_t kMost = 16;
  std::string text;
  for (size_t i = 0; i < std::min(list.size(), kMost); ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", list[i]);
  return "[" + text + (list.size() > kMost ? ",...]" : "]");
}

std::string AttributeText(const PrimitiveBuilder::Attribute& attribute) {
  if (const auto* number = std::get_if<int64_t>(&attribute)) return std::to_string(*number);
  if (const auto* real = std::get_if<float>(&attribute)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&attribute)) return JsonQuoted(*text);
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) return Shortened(*ints);
  if (const auto* floats = std::get_if<std::vector<float>>(&attribute)) return Shortened(*floats);
  if (const auto* tensor = std::get_if<Tensor>(&attribute))
    return fmt::format("{} {}", NameOf(tensor->dtype()), ShapeToString(tensor->shape()));
  std::vector<std::string> quoted;
  for (const std::string& text : std::get<std::vector<std::string>>(attribute)) quoted.push_back(JsonQuoted(text));
  return Shortened(quoted);
}

void AddGraph(const Graph& graph, const std::string& indent, std::string& text) {
  const auto list = [&](const char* kind, std::span<const ValueId> ids) {
    for (const ValueId id : ids)
      text += fmt::format("{}{} {}: {}\n", indent, kind, ValueNames(graph, {&id, 1}),
                          Describe(graph, graph.values[id].type));
  };
  std::vector<ValueId> constants;
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].is_constant()) constants.push_back(id);
  list("input", graph.inputs);
  list("capture", graph.captured);
  list("constant", constants);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const std::string domain(node.primitive.domain());
    text += fmt::format("{}{}: {} = {}{}{}-{}({})", indent, Shown(NodeName(graph, id)), ValueNames(graph, node.outputs),
                        Shown(domain), domain.empty() ? "" : ".", Shown(node.primitive.op_type()),
                        node.primitive.since_version(), ValueNames(graph, node.inputs));
    const PrimitiveBuilder content(node.primitive);
    for (const auto& [name, value] : content.attributes())
      text += fmt::format(" {}={}", Shown(name), AttributeText(value));
    for (const ValueId output : node.outputs)
      text += " : " + (output == kNone ? "-" : Describe(graph, graph.values[output].type));
    if (node.source != nullptr) text += "  # " + Shown(*node.source);
    text += "\n";
    for (const Region& region : node.regions) {
      text += fmt::format("{}  region {}\n", indent, Shown(region.name));
      AddGraph(*region.body, indent + "    ", text);
    }
  }
  list("output", graph.outputs);
}

std::string_view StorageText(StorageClass storage) {
  switch (storage) {
    case StorageClass::kUnused: return "unused";
    case StorageClass::kConstant: return "constant";
    case StorageClass::kBound: return "bound";
    case StorageClass::kArena: return "arena";
    case StorageClass::kDynamic: return "dynamic";
    case StorageClass::kHeld: return "held";
  }
  return "";
}

std::string_view KindOf(const Step& step) {
  if (step.is_view) return "a view, not run";
  if (step.is_fused) return "fused into other steps, not run";
  return step.executable == nullptr ? "regions run by the host" : NameOf(step.origin);
}

void AddPlan(const Plan& plan, const std::string& indent, std::string& text) {
  const Graph& graph = *plan.graph;
  text += fmt::format("{}{} steps, {}; arena of {} bytes\n", indent, plan.steps.size(),
                      plan.overlaps ? "which may overlap" : "one after another", plan.arena_bytes);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const PlacedPartition& placed = plan.placement.partitions[step.partition];
    text += fmt::format("{}step {}: partition '{}' on {}, {}\n", indent, i, Shown(placed.spec.name),
                        plan.delegate_names[DelegateOf(plan, step)], KindOf(step));
    text += indent + "  nodes";
    for (const NodeId node : placed.spec.nodes) text += " " + Shown(NodeName(graph, node));
    text += fmt::format("\n{0}  reads {1}\n{0}  writes {2}\n", indent, ValueNames(graph, step.inputs),
                        ValueNames(graph, step.outputs));
    if (!step.waits.empty()) text += fmt::format("{}  waits for {}\n", indent, fmt::join(step.waits, ", "));
    for (const Branch& branch : step.branches) AddPlan(*branch.plan, indent + "    ", text);
  }
  for (ValueId id = 0; id < plan.slots.size(); ++id) {
    const Slot& slot = plan.slots[id];
    if (slot.storage == StorageClass::kUnused) continue;
    text += fmt::format("{}buffer {}: {}", indent, ValueNames(graph, {&id, 1}), StorageText(slot.storage));
    if (slot.storage == StorageClass::kArena) text += fmt::format(" at {}", slot.offset);
    if (slot.bytes != 0) text += fmt::format(", {} bytes", slot.bytes);
    text += ", " + Describe(graph, graph.values[id].type);
    if (slot.next_alias != kNone && slot.next_alias != id)
      text += ", alias of " + ValueNames(graph, {&slot.next_alias, 1});
    text += "\n";
  }
}

std::string QuotedList(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + JsonQuoted(text);
  return "[" + list + "]";
}

}  // namespace

std::string GraphText(const Graph& graph) {
  std::string text;
  AddGraph(graph, "", text);
  return text;
}

std::string PlanText(const Plan& plan) {
  std::string text;
  AddPlan(plan, "", text);
  return text;
}

std::string JsonQuoted(std::string_view text) { return InQuotes(Shown(text)); }

std::string PlacementJson(const PlacementReport& report) {
  std::vector<std::string> delegates, partitions, nodes;
  for (const DelegateReport& it : report.delegates)
    delegates.push_back(fmt::format(
        R"({{"name": {}, "id": {}, "plugin": {}, "nodes": {}, "partitions": {}, "multiply_adds": {}}})",
        JsonQuoted(it.name), JsonQuoted(it.id), JsonQuoted(it.plugin), it.nodes, it.partitions, it.multiply_adds));
  for (const PartitionReport& it : report.partitions)
    partitions.push_back(fmt::format(
        R"({{"name": {}, "delegate": {}, "region": {}, "nodes": {}, "inputs": {}, "outputs": {}, "executable": "{}", )"
        R"("not_cached": {}, "overlaps": {}, "multiply_adds": {}}})",
        JsonQuoted(it.name), JsonQuoted(it.delegate), JsonQuoted(it.region), QuotedList(it.nodes),
        QuotedList(it.inputs), QuotedList(it.outputs), it.executable, JsonQuoted(it.not_cached), it.overlaps,
        it.multiply_adds));
  for (const NodeReport& it : report.nodes) {
    std::vector<std::string> refusals;
    for (const RefusalReport& refusal : it.refusals)
      refusals.push_back(fmt::format(R"({{"delegate": {}, "reason": {}, "detail": {}}})", JsonQuoted(refusal.delegate),
                                     JsonQuoted(refusal.reason), JsonQuoted(refusal.detail)));
    nodes.push_back(fmt::format(
        R"({{"name": {}, "op_type": {}, "domain": {}, "since_version": {}, "delegate": {}, "partition": {}, )"
        R"("region": {}, "multiply_adds": {}, "refusals": [{}]}})",
        JsonQuoted(it.name), JsonQuoted(it.op_type), JsonQuoted(it.domain), it.since_version, JsonQuoted(it.delegate),
        JsonQuoted(it.partition), JsonQuoted(it.region), it.multiply_adds, fmt::join(refusals, ", ")));
  }
  return fmt::format(
      "{{\"summary\": {},\n\"multiply_adds\": {},\n\"delegates\": [\n  {}],\n\"partitions\": [\n  {}],\n\"nodes\": [\n"
      "  {}]}}\n",
      JsonQuoted(report.summary), report.multiply_adds, fmt::join(delegates, ",\n  "), fmt::join(partitions, ",\n  "),
      fmt::join(nodes, ",\n  "));
}

}  // namespace deputy::host
