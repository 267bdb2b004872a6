#include "case_run.hpp"

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

}  // namespace deputy::conformance
