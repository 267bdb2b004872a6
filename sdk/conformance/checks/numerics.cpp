// Truthfulness: every "yes" of the support query must compile, and compute the oracle's results; one test per operator.
// Each case runs twice, with a guard page at either end of the buffers and different previous contents.
#include <map>

#include "case_run.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

enum class Taken { kNo, kYes, kFailed };

Taken RunCase(TestRun& run, Instance& instance, const Case& tested) {
  Plugin& plugin = instance.plugin();
  const CaseGraph shown(tested);
  if (shown.expected.empty()) return Taken::kNo;
  const auto fail = [&](const std::string& text) {
    run.Failed(tested.label, text);
    return Taken::kFailed;
  };
  Answer refusal;
  const std::optional<Claim> claim = instance.ClaimAll(shown.graph, &refusal);
  if (!run.NoFaults(plugin, tested.label)) return Taken::kFailed;
  if (!claim) return Taken::kNo;
  Outcome outcome;
  const std::unique_ptr<Executable> executable = instance.Compile(shown.graph, *claim, &outcome);
  if (!run.NoFaults(plugin, tested.label)) return Taken::kFailed;
  if (executable == nullptr) return fail("it takes the node, and then compile refuses it: " + outcome.ToString());
  std::string why_not;
  const std::unique_ptr<Context> context = executable->CreateContext(&why_not);
  if (context == nullptr) return fail("it takes the node, and then context_create fails: " + why_not);
  std::vector<std::vector<uint8_t>> results[2];
  for (const int i : {0, 1}) {
    Binding binding(shown, *claim, i == 0 ? Flush::kEnd : Flush::kBegin, i == 0 ? kPoison : kOtherPoison);
    outcome = binding.Run(*context);
    if (!run.NoFaults(plugin, tested.label)) return Taken::kFailed;
    if (!outcome.ok()) return fail("it takes the node, and then execute fails: " + outcome.ToString());
    results[i] = binding.Results();
  }
  std::string wrong = FaultOfValues(shown, *claim, results[0], run.settings().computes_in);
  if (const std::string fault = FaultOfResults(shown, *claim, results[0], results[1]); !fault.empty()) wrong = fault;
  if (!wrong.empty()) return fail(wrong);
  run.Passed(tested.label);
  return Taken::kYes;
}

void RunOperator(TestRun& run, const std::vector<const Case*>& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  bool any = false;
  for (auto i = static_cast<size_t>(run.first_case()); i < cases.size(); ++i) {
    run.BeginCase(static_cast<int64_t>(i), cases[i]->label);
    any = RunCase(run, *instance, *cases[i]) != Taken::kNo || any;
  }
  if (!any) run.Skipped("it takes no node of this operator");
}

}  // namespace

std::vector<Test> NumericTests(const std::vector<Case>& cases) {
  std::map<std::string, std::vector<const Case*>> operators;
  for (const Case& one : cases) operators[one.node.name()].push_back(&one);
  std::vector<Test> tests;
  for (const auto& [op_type, all] : operators)
    tests.push_back({"numerics." + op_type, [all = all](TestRun& run) { RunOperator(run, all); }});
  return tests;
}

}  // namespace deputy::conformance
