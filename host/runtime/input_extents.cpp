#include "runtime/input_extents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/nearest.hpp"

namespace deputy::host {
namespace {

Result<ValueId> FindInput(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const ValueId id : graph.caller_inputs()) {
    if (graph.values[id].name == name) return id;
    names.push_back(graph.values[id].name);
  }
  std::string listed;
  for (const ValueId id : graph.caller_inputs())
    listed += fmt::format("{}'{}' {}", listed.empty() ? "" : ", ", graph.values[id].name,
                          Describe(graph, graph.values[id].type));
  return Error(StatusCode::kInvalidArgument, "the model has no input '{}'{}", name, DidYouMean(name, names))
      .Advise("its inputs are " + (listed.empty() ? "none" : listed));
}

}  // namespace

void ForgetExtents(Graph& graph) {
  std::unordered_set<ValueId> inputs(graph.inputs.begin(), graph.inputs.end());
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    Value& value = graph.values[id];
    if (inputs.count(id) == 0 && !value.is_constant()) value.type.dims.assign(value.type.dims.size(), kUnknownDim);
  }
  // Bodies are shared by copies of a node, so a changed one is a new one. Inputs of a body depend on values outside.
  for (Node& node : graph.nodes)
    for (Region& region : node.regions) {
      auto body = std::make_shared<Graph>(*region.body);
      ForgetExtents(*body);
      for (const ValueId id : body->inputs)
        body->values[id].type.dims.assign(body->values[id].type.dims.size(), kUnknownDim);
      region.body = std::move(body);
    }
}

Result<std::string> ChangeInputExtents(Graph& graph, const NamedShapes& shapes) {
  std::string changed;
  std::vector<ValueId> named;
  for (const auto& [name, shape] : shapes) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, FindInput(graph, name));
    if (std::find(named.begin(), named.end(), id) != named.end())
      return Error(StatusCode::kInvalidArgument, "input '{}' has two shapes", name);
    named.push_back(id);
    ValueType& type = graph.values[id].type;
    if (!type.is_tensor())
      return Error(StatusCode::kInvalidArgument, "input '{}' is {}, which has no shape", name, Describe(graph, type));
    if (!type.ranked) continue;
    const bool is_shape = std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= -1; });
    if (!is_shape || shape.size() != type.dims.size())
      return Error(StatusCode::kInvalidArgument, "the shape {} does not fit input '{}', which is {}",
                   ShapeToString(shape), name, Describe(graph, type));
    const std::string before = Describe(graph, type);
    bool differs = false;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (type.dims[axis] < 0 || type.dims[axis] == shape[axis]) continue;
      type.dims[axis] = shape[axis] < 0 ? kUnknownDim : shape[axis];
      differs = true;
    }
    if (differs) changed += fmt::format("{}'{}' is {} in the file", changed.empty() ? "" : ", ", name, before);
  }
  if (!changed.empty()) ForgetExtents(graph);
  return changed;
}

}  // namespace deputy::host
