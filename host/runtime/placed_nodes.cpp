#include "runtime/placed_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace deputy::host {
namespace {

std::vector<PlacedValue> ValuesOf(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<PlacedValue> values;
  for (const ValueId id : ids) {
    PlacedValue& made = values.emplace_back();
    if (id == kNone) continue;
    const Value& value = graph.values[id];
    made.name = value.name.empty() ? fmt::format("value {}", id) : value.name;
    made.type = Describe(graph, value.type);
    made.constant = value.constant;
  }
  return values;
}

}  // namespace

void PlacedNodes::AddRegion(const Graph& graph, const std::string& path) {
  placed_.regions.push_back(
      {path, ValuesOf(graph, graph.inputs), ValuesOf(graph, graph.outputs), ValuesOf(graph, graph.captured)});
}

void PlacedNodes::AddNode(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  PlacedNode made;
  made.order = id;
  made.inputs = ValuesOf(graph, node.inputs);
  made.outputs = ValuesOf(graph, node.outputs);
  std::vector<ValueId> captured;  // each once: branches often read the same
  for (const Region& region : node.regions)
    for (const ValueId value : region.captures)
      if (std::find(captured.begin(), captured.end(), value) == captured.end()) captured.push_back(value);
  made.captured = ValuesOf(graph, captured);
  const PrimitiveBuilder primitive(node.primitive);
  for (const auto& [name, value] : primitive.attributes()) made.attributes.emplace_back(name, value);
  placed_.nodes.push_back(std::move(made));
}

}  // namespace deputy::host
