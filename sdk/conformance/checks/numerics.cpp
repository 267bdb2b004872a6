// Truthfulness: every "yes" of the support query must compile, and compute the oracle's results; one test per operator.
// Each case runs twice, with a guard page at either end of the buffers and different previous contents. The fixed cases
// come first; then those that a search finds where they are too few; then the cases that are taken with other values,
// at the ends of vectors and beyond 16-bit counts; then random nodes.
#include <algorithm>
#include <map>
#include <set>

#include "case_run.hpp"
#include "probing/forms.hpp"
#include "probing/neighbours.hpp"
#include "probing/taken_cases.hpp"
#include "probing/values.hpp"
#include "saved_case.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

enum class Taken { kNo, kYes, kFailed };

Taken RunCase(TestRun& run, Instance& instance, const Case& tested, Answer* refusal) {
  Plugin& plugin = instance.plugin();
  const CaseGraph shown(tested);
  if (shown.expected.empty()) return Taken::kNo;
  const auto fail = [&](const std::string& text) {
    run.Failed(tested.label, text);
    return Taken::kFailed;
  };
  const std::optional<Claim> claim = instance.ClaimAll(shown.graph, refusal);
  if (!run.NoFaults(plugin, tested.label)) return Taken::kFailed;
  if (!claim) return Taken::kNo;
  const SavedCase saved(run, tested);
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

// Sums over all elements lose more digits than a tolerance for their number allows.
bool IsReduction(const Case& tested) { return tested.node.op_type.rfind("Reduce", 0) == 0; }

// The cases of one operator, run in turn. A process that continues behind a case that crashed asks about the earlier
// ones again and runs the later ones.
class OperatorRun {
 public:
  OperatorRun(TestRun& run, Instance& instance, const std::vector<const Case*>& fixed)
      : run_(run), instance_(instance), fixed_(fixed), search_(instance, fixed, run.settings().seed) {}

  void Run() {
    for (const Case* tested : fixed_) Try(*tested);
    for (const Case& tested : search_.Search()) Try(tested, false);
    const std::vector<Case> taken = taken_;
    if (!taken.empty()) {
      TryOtherValues(taken);
      TryNeighbours(taken);
      TrySizes(taken);
      // They would only repeat what has been found.
      if (run_.failures() == 0)
        for (const Case& tested : search_.Drawn(thorough() ? 150 * kMostDrawn : kMostDrawn,
                                                thorough() ? 150 * kMostQuestions : kMostQuestions))
          Try(tested, false);
    }
    run_.Covered(fixed_.front()->node.name(), passed_, fixed_taken_, fixed_.size());
    if (passed_ == 0) run_.Skipped("it takes no node of this operator");
  }

 private:
  bool thorough() const { return run_.settings().thorough; }
  static constexpr size_t kMostDrawn = 12;
  static constexpr int kMostQuestions = 48;

  // `asked`: the answer is known to the search already, or not wanted by it.
  void Try(const Case& tested, bool is_fixed = true) {
    const int64_t index = next_++;
    if (index < run_.first_case()) {
      if (!is_fixed) return;
      if (search_.Asks(tested)) Take(tested, is_fixed);
      return;
    }
    run_.BeginCase(index, tested.label);
    Answer refusal;
    const Taken taken = RunCase(run_, instance_, tested, &refusal);
    if (is_fixed) search_.Record(tested, taken != Taken::kNo, refusal);
    if (taken != Taken::kNo) Take(tested, is_fixed);
  }

  void Take(const Case& tested, bool is_fixed) {
    ++passed_;
    if (is_fixed) ++fixed_taken_;
    taken_.push_back(tested);
  }

  void TryOtherValues(const std::vector<Case>& taken) {
    constexpr size_t kMostOfOneKind = 24;
    size_t full = 0;
    std::set<deputy_dtype> types;
    // The fewer forms it takes, the more values of each.
    const size_t most = thorough() ? 8 * kMostOfOneKind : kMostOfOneKind;
    const size_t rounds = std::clamp<size_t>(most / taken.size(), 1, thorough() ? 16 : 4);
    for (const Case& tested : taken) {
      for (size_t round = 0; round < rounds && full < most; ++round)
        if (const std::optional<Case> other = WithFullMantissas(tested, run_.settings().seed + round)) {
          ++full;
          Try(*other, false);
        }
      const std::optional<Form> form = FormOf(tested);
      if (!form || reference::CountOf(form->dims) < 2 || !types.insert(form->dtype).second) continue;
      for (const Case& other : WithSpecialValues(tested, run_.settings().seed)) Try(other, false);
    }
  }

  // The same nodes with one thing changed; of each kind from a few of the cases.
  void TryNeighbours(const std::vector<Case>& taken) {
    const size_t most = thorough() ? 64 : 12;
    size_t count = 0;
    const size_t before = passed_;
    for (const auto& change : {Wider, WithOtherAxes, OtherExtents}) {
      std::set<std::string> labels;
      size_t of_kind = 0;
      for (const Case& tested : taken)
        for (const Case& other : change(tested, run_.settings().seed)) {
          if (of_kind >= most / 2 || count >= 2 * most || passed_ - before >= most) break;
          if (!labels.insert(other.label).second) continue;
          ++of_kind;
          ++count;
          Try(other, false);
        }
    }
  }

  void TryFormed(const Form& form) {
    const std::optional<Case> made = CaseIn(fixed_.front()->node.name(), form, run_.settings().seed);
    if (!made) return;
    const std::optional<Case> full = WithFullMantissas(*made, run_.settings().seed);
    Try(full ? *full : *made, false);
  }

  // For one form of each element type.
  void TrySizes(const std::vector<Case>& taken) {
    constexpr size_t kMostTypes = 3;
    std::set<std::pair<deputy_dtype, size_t>> seen;
    std::set<deputy_dtype> types;
    const bool reduces = IsReduction(taken.front());
    for (const Case& tested : taken) {
      const std::optional<Form> form = FormOf(tested);
      if (!form || form->dims.empty() || reference::CountOf(form->dims) < 2 || form->dims[0] == 0) continue;
      if (types.size() == kMostTypes && types.count(form->dtype) == 0) continue;
      if (!seen.insert({form->dtype, form->dims.size()}).second || seen.size() > 6) continue;
      const bool is_new = types.insert(form->dtype).second;
      if (is_new)
        for (const Form& tail : TailsOf(*form)) TryFormed(tail);
      if (reduces || types.size() > 1) continue;
      for (const Form& wide : WideOf(*form)) TryFormed(wide);
      for (const std::vector<Form>& alternatives : AreasOf(*form))
        for (const Form& large : alternatives) {
          const size_t before = passed_;
          TryFormed(large);
          if (passed_ != before) break;
        }
    }
  }

  TestRun& run_;
  Instance& instance_;
  const std::vector<const Case*>& fixed_;
  TakenCases search_;
  std::vector<Case> taken_;
  int64_t next_ = 0;
  size_t passed_ = 0, fixed_taken_ = 0;
};

void RunOperator(TestRun& run, const std::vector<const Case*>& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  OperatorRun(run, *instance, cases).Run();
}

}  // namespace

std::vector<Test> NumericTests(const std::vector<Case>& cases) {
  std::vector<Test> tests;
  for (const auto& [op_type, all] : ByOperator(cases))
    tests.push_back({"numerics." + op_type, [all = all](TestRun& run) { RunOperator(run, all); }});
  return tests;
}

}  // namespace deputy::conformance
