// One operator at several shapes at once, and, where the delegate takes extents that are not known before the run, one
// executable for several of them.
#include <map>

#include "case_run.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

void CheckSeveral(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kMostShapes = 4, kMostOperators = 12;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  std::map<std::string, std::vector<const Case*>> shaped;
  for (const Case& tested : cases)
    if (tested.label.rfind("shape=", 0) == 0 && tested.label.find(' ') == std::string::npos)
      shaped[tested.node.name()].push_back(&tested);
  size_t operators = 0;
  std::string ignored;
  for (const auto& [type, all] : shaped) {
    std::vector<Compiled> compiled;
    for (const Case* tested : all) {
      if (compiled.size() == kMostShapes) break;
      if (std::optional<Compiled> one = CompileCase(*instance, *tested, &ignored)) compiled.push_back(std::move(*one));
    }
    for (int round = 0; round < 2; ++round)
      for (Compiled& one : compiled) {
        const std::string wrong = FaultOfRun(*one.shown, one.claim, *one.context, run.settings().computes_in);
        if (!wrong.empty()) run.Failed(one.tested->name(), "several shapes in turns: " + wrong);
      }
    if (!compiled.empty() && ++operators == kMostOperators) break;
  }
  if (operators == 0) run.Skipped("it takes no case");
  run.NoFaults(*plugin, "");
}

// The case's graph with unknown extents of all inputs that are not constant. Extents of outputs are known: the ABI
// cannot allocate outputs in the run, so that hosts offer only nodes with known output extents.
struct OpenGraph {
  deputy_graph graph;
  explicit OpenGraph(const Case& tested) {
    std::vector<deputy_value_id> ids;
    for (size_t i = 0; i < tested.inputs.size(); ++i) {
      const Operand& operand = tested.inputs[i];
      const std::string name = "x" + std::to_string(i);
      if (!operand.present) {
        ids.push_back(DEPUTY_NO_VALUE);
      } else if (operand.constant) {
        ids.push_back(graph.AddConstant(name, operand.value));
      } else {
        ids.push_back(graph.AddValue(name, operand.value.dtype, Dims(operand.value.rank(), -1)));
        graph.AddInput(ids.back());
      }
    }
    std::vector<deputy_value_id> made;
    for (const Tensor& expected : reference::Compute(tested.node, tested.operands())) {
      made.push_back(graph.AddValue("y" + std::to_string(made.size()), expected.dtype, expected.dims));
      graph.AddOutput(made.back());
    }
    graph.AddNode(tested.node.op_type, tested.node, ids, made);
  }
};

void CheckOpenExtents(TestRun& run, const std::vector<Case>& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  if ((instance->delegate()->flags & DEPUTY_DELEGATE_DYNAMIC_SHAPES) == 0)
    return run.Skipped("the delegate takes known extents only");
  bool any = false;
  for (const Case& tested : cases) {
    if (tested.label != "plain") continue;
    const OpenGraph shown(tested);
    const CaseGraph known(tested);
    if (known.expected.empty()) continue;
    Answer refusal;
    const std::optional<Claim> claim = instance->ClaimAll(shown.graph, &refusal);
    if (!claim) continue;
    any = true;
    Outcome outcome;
    const std::unique_ptr<Executable> executable = instance->Compile(shown.graph, *claim, &outcome);
    std::string why_not = outcome.ToString();
    const std::unique_ptr<Context> context = executable == nullptr ? nullptr : executable->CreateContext(&why_not);
    if (context == nullptr) {
      run.Failed(tested.name(), "it takes the node with open extents, and then refuses it: " + why_not);
      continue;
    }
    const std::string wrong = FaultOfRun(known, *claim, *context, run.settings().computes_in);
    if (wrong.empty())
      run.Passed(tested.name());
    else
      run.Failed(tested.name(), "with open extents: " + wrong);
  }
  if (!any) run.Skipped("it takes no case with open extents");
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> ShapeTests(const std::vector<Case>& cases) {
  return {{"shapes.several", With(CheckSeveral, cases)}, {"shapes.open", With(CheckOpenExtents, cases)}};
}

}  // namespace deputy::conformance
