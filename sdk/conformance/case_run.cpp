#include "case_run.hpp"

#include <algorithm>
#include <set>

namespace deputy::conformance {

CaseGraph::CaseGraph(const Case& tested) : tested_(tested) {
  std::vector<deputy_value_id> ids;
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const Operand& operand = tested.inputs[i];
    const std::string name = "x" + std::to_string(i);
    if (!operand.present) {
      ids.push_back(DEPUTY_NO_VALUE);
      continue;
    }
    Know("input " + std::to_string(i), operand.value);
    if (operand.constant) {
      ids.push_back(graph.AddConstant(name, operand.value));
    } else {
      ids.push_back(graph.AddValue(name, operand.value.dtype, operand.value.dims));
      graph.AddInput(ids.back());
      inputs.push_back(operand.value);
    }
  }
  expected = reference::Compute(tested.node, tested.operands());
  std::vector<deputy_value_id> made;
  for (size_t i = 0; i < expected.size(); ++i) {
    Know("output " + std::to_string(i), expected[i]);
    made.push_back(graph.AddValue("y" + std::to_string(i), expected[i].dtype, expected[i].dims));
    graph.AddOutput(made.back());
  }
  graph.AddNode(tested.node.op_type, tested.node, ids, made);
}

Tolerance CaseGraph::ToleranceIn(const Claim&, deputy_value_id id, deputy_dtype computes_in) const {
  return ToleranceOf(tested_, ValueOf(id).dtype, computes_in);
}

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

std::optional<Compiled> CompileShown(Instance& instance, std::string name, std::unique_ptr<ShownModel> shown,
                                     std::string* why_not) {
  Compiled compiled;
  compiled.name = std::move(name);
  compiled.shown = std::move(shown);
  Answer refusal;
  std::optional<Claim> claim = instance.ClaimAll(compiled.shown->graph, &refusal);
  if (!claim) {
    *why_not = std::string(ReasonName(refusal.reason)) + (refusal.detail.empty() ? "" : ", " + refusal.detail);
    return std::nullopt;
  }
  compiled.claim = *claim;
  Outcome outcome;
  compiled.executable = instance.Compile(compiled.shown->graph, *claim, &outcome);
  if (compiled.executable == nullptr) {
    *why_not = "compile refused: " + outcome.ToString();
    return std::nullopt;
  }
  compiled.context = compiled.executable->CreateContext(why_not);
  if (compiled.context == nullptr) return std::nullopt;
  return compiled;
}

std::optional<Compiled> CompileCase(Instance& instance, const Case& tested, std::string* why_not) {
  std::optional<Compiled> compiled =
      CompileShown(instance, tested.name(), std::make_unique<CaseGraph>(tested), why_not);
  if (compiled) compiled->tested = &tested;
  return compiled;
}

std::optional<Compiled> CompileAnyCase(Instance& instance, const std::vector<Case>& cases) {
  std::string ignored;
  for (const char* liked : {"MatMul", "Conv", "Add", "Relu", "Identity", ""})
    for (const Case& tested : cases) {
      if (tested.node.name() != liked && *liked != 0) continue;
      if (tested.label != "plain" && *liked != 0) continue;
      if (std::optional<Compiled> compiled = CompileCase(instance, tested, &ignored)) return compiled;
    }
  return std::nullopt;
}

OpenedCase OpenAnyCase(TestRun& run, const std::vector<Case>& cases) {
  auto [plugin, instance] = run.LoadAndOpen();
  OpenedCase opened{std::move(plugin), std::move(instance), std::nullopt};
  if (opened.instance == nullptr) return opened;
  opened.compiled = CompileAnyCase(*opened.instance, cases);
  if (!opened.compiled) run.Skipped("it takes no case");
  return opened;
}

}  // namespace deputy::conformance
