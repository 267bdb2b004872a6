#include "model_run.hpp"

#include <algorithm>
#include <set>

namespace deputy::conformance {

ModelGraph::ModelGraph(const ModelCase& model) : model_(model) {
  // Ids of values are those of the case.
  for (size_t i = 0; i < model.values.size(); ++i) {
    const ModelValue& value = model.values[i];
    const std::string name = "v" + std::to_string(i);
    Know(name, value.value);
    if (value.constant)
      graph.AddConstant(name, value.value);
    else
      graph.AddValue(name, value.value.dtype, value.value.dims);
  }
  const auto ids = [](const std::vector<size_t>& values) {
    return std::vector<deputy_value_id>(values.begin(), values.end());
  };
  for (const ModelNode& node : model.nodes)
    graph.AddNode(node.node.op_type + std::to_string(graph.node_count()), node.node, ids(node.inputs),
                  ids(node.outputs));
  for (const size_t value : model.inputs) graph.AddInput(static_cast<deputy_value_id>(value));
  for (const size_t value : model.outputs) graph.AddOutput(static_cast<deputy_value_id>(value));
}

Tolerance ModelGraph::ToleranceIn(const Claim& claim, deputy_value_id id, deputy_dtype computes_in) const {
  // The next nodes may enlarge the error of one node.
  constexpr double kEnlarged = 3;
  std::set<size_t> needed = {id};
  Tolerance sum;
  int count = 0;
  for (size_t i = model_.nodes.size(); i-- > 0;) {
    const ModelNode& node = model_.nodes[i];
    if (needed.count(node.outputs[0]) == 0) continue;
    if (std::find(claim.nodes.begin(), claim.nodes.end(), static_cast<deputy_node_id>(i)) == claim.nodes.end())
      continue;
    Case alone;
    alone.node = node.node;
    for (const size_t input : node.inputs) {
      alone.inputs.push_back({model_.values[input].value, true, model_.values[input].constant});
      needed.insert(input);
    }
    const Tolerance one = ToleranceOf(alone, model_.values[node.outputs[0]].value.dtype, computes_in);
    sum.absolute += one.absolute;
    sum.relative += one.relative;
    sum.scaled += one.scaled;
    sum.reason += (count++ == 0 ? "" : "; ") + node.node.op_type + ": " + one.reason;
  }
  if (count < 2) return sum;
  sum.absolute *= kEnlarged;
  sum.relative *= kEnlarged;
  sum.scaled *= kEnlarged;
  return sum;
}

}  // namespace deputy::conformance
