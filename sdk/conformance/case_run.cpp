#include "case_run.hpp"

#include <algorithm>
#include <cmath>
#include <random>
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
    std::vector<deputy_value_id> all;
    for (const size_t value : values)
      all.push_back(value == kLeftOut ? DEPUTY_NO_VALUE : static_cast<deputy_value_id>(value));
    return all;
  };
  for (const ModelNode& node : model.nodes)
    graph.AddNode(node.node.op_type + std::to_string(graph.node_count()), node.node, ids(node.inputs),
                  ids(node.outputs));
  for (const size_t value : model.inputs) graph.AddInput(static_cast<deputy_value_id>(value));
  for (const size_t value : model.outputs) graph.AddOutput(static_cast<deputy_value_id>(value));
}

bool ModelGraph::IsIn(const Claim& claim, size_t node) const {
  return std::find(claim.nodes.begin(), claim.nodes.end(), static_cast<deputy_node_id>(node)) != claim.nodes.end();
}

Case ModelGraph::Alone(size_t node) const {
  Case alone;
  alone.node = model_.nodes[node].node;
  for (const size_t input : model_.nodes[node].inputs) {
    if (input == kLeftOut)
      alone.inputs.push_back({Tensor(), false, false});
    else
      alone.inputs.push_back({model_.values[input].value, true, model_.values[input].constant});
  }
  return alone;
}

double ModelGraph::DeviationOf(const Claim& claim, deputy_value_id id, deputy_dtype computes_in) const {
  constexpr uint64_t kTrials = 2;
  const std::lock_guard lock(mutex_);
  std::map<size_t, double>& known = deviations_[claim.nodes];
  if (!known.empty()) return known[id];
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    std::mt19937_64 random(trial + 1);
    std::map<size_t, Tensor> moved;
    for (size_t i = 0; i < model_.nodes.size(); ++i) {
      if (!IsIn(claim, i)) continue;
      const ModelNode& node = model_.nodes[i];
      Case alone = Alone(i);
      for (size_t at = 0; at < node.inputs.size(); ++at)
        if (const auto found = moved.find(node.inputs[at]); found != moved.end())
          alone.inputs[at].value = found->second;
      const size_t made = node.outputs[0];
      const Tensor& right = model_.values[made].value;
      Tensor value = reference::Compute(node.node, alone.operands()).at(0);
      if (value.dims != right.dims) continue;  // extents that follow from values
      const Tolerance own = ToleranceOf(alone, value.dtype, computes_in);
      const double largest = LargestMagnitude(right);
      double deviation = 0;
      for (int64_t at = 0; at < value.count(); ++at) {
        if (reference::IsReal(value.dtype))
          value.Put(at, value.Get(at) + (random() % 2 == 0 ? 1 : -1) * own.For(value.Get(at), largest));
        const double error = std::fabs(value.Get(at) - right.Get(at));
        if (std::isfinite(error) && !IsLimit(right.dtype, right.Get(at))) deviation = std::max(deviation, error);
      }
      known[made] = std::max(known[made], deviation);
      moved[made] = std::move(value);
    }
  }
  return known[id];
}

Tolerance ModelGraph::ToleranceIn(const Claim& claim, deputy_value_id id, deputy_dtype computes_in) const {
  // The next nodes may enlarge the error of one node.
  constexpr double kEnlarged = 3;
  std::set<size_t> needed = {id};
  Tolerance sum;
  int count = 0;
  for (size_t i = model_.nodes.size(); i-- > 0;) {
    const ModelNode& node = model_.nodes[i];
    if (needed.count(node.outputs[0]) == 0 || !IsIn(claim, i)) continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    const Tolerance one = ToleranceOf(Alone(i), model_.values[node.outputs[0]].value.dtype, computes_in);
    sum.absolute += one.absolute;
    sum.relative += one.relative;
    sum.scaled += one.scaled;
    sum.reason += (count++ == 0 ? "" : "; ") + node.node.op_type + ": " + one.reason;
  }
  if (count < 2) return sum;
  sum.absolute = kEnlarged * std::max(sum.absolute, DeviationOf(claim, id, computes_in));
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

std::vector<Compiled> CompileSomeCases(
    Instance& instance, const std::vector<Case>& cases, size_t most,
    const std::function<bool(const Case& tested, size_t admitted, size_t supported)>& admits) {
  struct Count {
    size_t admitted = 0, supported = 0;
  };
  std::vector<Compiled> all;
  std::map<std::string, Count> counts;
  std::string ignored;
  for (const char* liked : {"MatMul", "Gemm", "Conv", "Add", "Relu", ""})
    for (const Case& tested : cases) {
      if (all.size() == most) return all;
      if (*liked != 0 ? tested.node.name() != liked : tested.label != "plain") continue;
      Count& count = counts[tested.node.name()];
      if (!admits(tested, count.admitted, count.supported)) continue;
      ++count.admitted;
      if (std::optional<Compiled> compiled = CompileCase(instance, tested, &ignored)) {
        ++count.supported;
        all.push_back(std::move(*compiled));
      }
    }
  return all;
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
