// State that outlives its run, for each operator and for partitions of several nodes: buffers that move and buffers
// that stay, contexts in turns and at once, equal nodes with other constants, failed runs, contexts that end while
// others run, compilation beside runs, and memory that runs lose.
#include "probing/forms.hpp"
#include "probing/neighbours.hpp"
#include "probing/subject.hpp"
#include "probing/taken_cases.hpp"
#include "probing/taken_models.hpp"
#include "state_run.hpp"
#include "surroundings.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

constexpr int64_t kThousands = 4096, kMillion = 1 << 20;

// A case of so many elements, of the same type and rank.
std::optional<Case> LargerThan(const Case& tested, uint64_t seed, int64_t elements) {
  std::optional<Form> form = FormOf(tested);
  if (!form || form->dims.empty() || reference::CountOf(form->dims) == 0) return std::nullopt;
  Dims& dims = form->dims;
  if (dims.size() == 1) {
    dims[0] = elements;
  } else if (dims.size() == 2) {
    dims = {64, elements / 64};
  } else {
    int64_t rest = 1;
    for (size_t i = 0; i + 2 < dims.size(); ++i) rest *= dims[i];
    dims[dims.size() - 2] = std::max<int64_t>(2, elements / 64 / rest);
    dims.back() = 64;
  }
  if (std::optional<Case> larger = CaseIn(tested.node.name(), *form, seed)) return larger;
  if (elements > kThousands) return std::nullopt;
  const std::vector<Case> wide = Wider(tested, seed);
  return wide.empty() ? std::nullopt : std::optional<Case>(wide.front());
}

// Each element of its result follows from few others, so that a million of them are computed soon.
bool IsOfFew(const Case& tested) {
  const std::string& type = tested.node.op_type;
  for (const char* part : {"Reduce", "Global", "Normalization", "oftmax", "Conv", "MatMul", "Gemm", "CumSum"})
    if (type.find(part) != std::string::npos) return false;
  return true;
}

void CheckOperator(TestRun& run, const std::vector<const Case*>& cases) {
  const size_t most = run.settings().thorough ? 8 : 2;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  TakenCases search(*instance, cases, run.settings().seed);
  const std::vector<Case> taken = search.First(most);
  for (auto i = static_cast<size_t>(run.first_case()); i < taken.size(); ++i) {
    run.BeginCase(static_cast<int64_t>(i), taken[i].name());
    (void)TryState(run, *instance, Subject(taken[i]), i == 0);
  }
  const auto behind = static_cast<int64_t>(taken.size());
  if (!taken.empty() && run.failures() == 0 && run.first_case() <= behind)
    if (const std::optional<Case> larger = LargerThan(taken[0], run.settings().seed, kThousands)) {
      run.BeginCase(behind, larger->name());
      TryAtOnce(run, *instance, Subject(*larger));
    }
  if (!taken.empty() && run.failures() == 0 && run.first_case() <= behind + 1) {
    const int64_t elements = IsOfFew(taken[0]) ? kMillion : run.settings().thorough ? 16 * kThousands : kThousands;
    if (const std::optional<Case> larger = LargerThan(taken[0], run.settings().seed, elements)) {
      run.BeginCase(behind + 1, larger->name());
      TryEnded(run, *instance, *larger);
    }
  }
  if (taken.empty()) run.Skipped("it takes no node of this operator");
}

// Models that the delegate takes whole: fixed ones, and where those are few, others of the nodes that it takes.
void CheckPartitions(TestRun& run, const std::vector<Case>& cases, const std::vector<ModelCase>& models) {
  constexpr size_t kEnough = 6;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const std::vector<ModelCase> taken = TakenModels(*instance, cases, models, run.settings().seed, kEnough);
  bool any = false;
  for (auto i = static_cast<size_t>(run.first_case()); i < taken.size(); ++i) {
    run.BeginCase(static_cast<int64_t>(i), taken[i].label);
    any = TryState(run, *instance, Subject(taken[i]), !any) || any;
  }
  if (!any && run.first_case() == 0) run.Skipped("it takes no model of several nodes whole");
}

// Thousands of runs, so that a loss in some of them, or of little, is noticed.
void CheckThousands(TestRun& run, const std::vector<Case>& cases) {
  constexpr int kWindows = 5, kRuns = 1000;
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  Binding binding(*opened.compiled->shown, opened.compiled->claim, Flush::kEnd, kPoison);
  Usage least{SIZE_MAX, SIZE_MAX, SIZE_MAX};
  const size_t statuses = opened.plugin->host().statuses_out();
  for (int window = 0; window < kWindows; ++window) {
    const Usage before = Usage::Take();
    for (int i = 0; i < kRuns; ++i)
      if (const Outcome outcome = binding.Run(*opened.compiled->context); !outcome.ok())
        return run.Failed("", "run " + std::to_string(window * kRuns + i + 1) + " fails: " + outcome.ToString());
    const Usage after = Usage::Take();
    const auto grown = [](size_t a, size_t b) { return b > a ? b - a : 0; };
    least.bytes = std::min(least.bytes, grown(before.bytes, after.bytes));
    least.descriptors = std::min(least.descriptors, grown(before.descriptors, after.descriptors));
    least.threads = std::min(least.threads, grown(before.threads, after.threads));
  }
  const std::string in = " are lost in each " + std::to_string(kRuns) + " runs";
  if (least.bytes >= 64) run.Failed("", std::to_string(least.bytes) + " bytes of memory" + in);
  if (least.descriptors != 0) run.Failed("", std::to_string(least.descriptors) + " descriptors" + in);
  if (least.threads != 0) run.Failed("", std::to_string(least.threads) + " threads" + in);
  if (opened.plugin->host().statuses_out() > statuses) run.Failed("", "statuses" + in);
  const std::string wrong = FaultOfRun(*opened.compiled->shown, opened.compiled->claim, *opened.compiled->context,
                                       run.settings().computes_in);
  if (!wrong.empty()) run.Failed("", "after " + std::to_string(kWindows * kRuns) + " runs: " + wrong);
  run.NoFaults(*opened.plugin, "");
}

}  // namespace

std::vector<Test> StateTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models) {
  std::vector<Test> tests;
  for (const auto& [op_type, all] : ByOperator(cases))
    tests.push_back({"state." + op_type, [all = all](TestRun& run) { CheckOperator(run, all); }});
  tests.push_back({"state.partitions", With(CheckPartitions, cases, models)});
  tests.push_back({"leaks.thousands", With(CheckThousands, cases)});
  return tests;
}

}  // namespace deputy::conformance
