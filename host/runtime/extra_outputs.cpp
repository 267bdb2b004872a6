#include "runtime/extra_outputs.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/nearest.hpp"
#include "base/printable.hpp"

namespace deputy::host {
namespace {

// The node with a region in which there is such a value, at any depth; kNone if there is none.
NodeId NodeAround(const Graph& graph, std::string_view name) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    for (const Region& region : graph.nodes[id].regions) {
      const auto has_name = [&](const Value& value) { return value.name == name; };
      if (std::any_of(region.body->values.begin(), region.body->values.end(), has_name) ||
          NodeAround(*region.body, name) != kNone)
        return id;
    }
  return kNone;
}

Status Missing(const Graph& graph, const std::string& name) {
  const NodeId around = NodeAround(graph, name);
  if (around != kNone)
    return Error(StatusCode::kInvalidArgument, "value '{}' is inside a region of {} and cannot be an output",
                 Printable(name), Describe(graph, around))
        .Advise("choose an output of that node");
  const auto node =
      std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& one) { return one.name == name; });
  if (node != graph.nodes.end()) {
    std::string outputs;
    for (const ValueId id : node->outputs)
      if (id != kNone) outputs += (outputs.empty() ? "'" : ", '") + Printable(graph.values[id].name) + "'";
    return Error(StatusCode::kInvalidArgument, "'{}' is a node, not a value", Printable(name))
        .Advise("its outputs: " + outputs);
  }
  std::vector<std::string_view> names;
  for (const Value& value : graph.values) names.push_back(value.name);
  return Error(StatusCode::kInvalidArgument, "the graph has no value '{}'{}", Printable(name),
               Printable(DidYouMean(name, std::span<const std::string_view>(names))))
      .Advise("'deputy inspect --nodes --json' lists the values of all nodes");
}

}  // namespace

Status AddOutputs(Graph& graph, std::span<const std::string> names) {
  if (names.empty()) return {};
  std::unordered_map<std::string_view, ValueId> values;
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (!graph.values[id].name.empty()) values.emplace(graph.values[id].name, id);
  std::vector<ValueId> added;
  for (const std::string& name : names) {
    const auto found = values.find(name);
    if (found == values.end()) return Missing(graph, name);
    const auto is_known = [&](std::span<const ValueId> list) {
      return std::find(list.begin(), list.end(), found->second) != list.end();
    };
    if (!is_known(graph.caller_outputs()) && !is_known(added)) added.push_back(found->second);
  }
  // States stay the last outputs.
  const auto end = graph.outputs.begin() + static_cast<std::ptrdiff_t>(graph.caller_outputs().size());
  graph.outputs.insert(end, added.begin(), added.end());
  return {};
}

}  // namespace deputy::host
