// Runs in every order, repeated and interleaved; and no writes after execute has returned.
#include <chrono>
#include <map>
#include <thread>

#include "case_run.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

// One of several sets of inputs for one executable, each with its own results.
struct Job {
  Case tested;
  CaseGraph shown;
  explicit Job(Case one) : tested(std::move(one)), shown(tested) {}

  std::string Run(const TestRun& run, const Claim& claim, Context& context) const {
    return FaultOfRun(shown, claim, context, run.settings().computes_in);
  }
};

void CheckRepeated(TestRun& run, const std::vector<Case>& cases) {
  constexpr int kRuns = 50;
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  const Job plain(*opened.compiled->tested), other(Turned(*opened.compiled->tested, 1));
  for (int i = 0; i < kRuns; ++i) {
    const std::string wrong = (i % 3 == 2 ? other : plain).Run(run, opened.compiled->claim, *opened.compiled->context);
    if (!wrong.empty()) return run.Failed("", "run " + std::to_string(i + 1) + " in one context: " + wrong);
  }
  run.NoFaults(*opened.plugin, "");
}

void CheckContexts(TestRun& run, const std::vector<Case>& cases) {
  constexpr int kContexts = 3, kRounds = 5;
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < kContexts; ++i) {
    std::string why_not;
    contexts.push_back(opened.compiled->executable->CreateContext(&why_not));
    if (contexts.back() == nullptr) return run.Failed("", "no further context: " + why_not);
    jobs.push_back(std::make_unique<Job>(Turned(*opened.compiled->tested, static_cast<size_t>(i))));
  }
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < contexts.size(); ++i) {
      const std::string wrong = jobs[i]->Run(run, opened.compiled->claim, *contexts[i]);
      if (!wrong.empty()) return run.Failed("", "contexts in turns: " + wrong);
    }
  run.NoFaults(*opened.plugin, "");
}

void CheckLateWrites(TestRun& run, const std::vector<Case>& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  std::vector<std::unique_ptr<Binding>> kept;
  for (int i = 0; i < 4; ++i) {
    kept.push_back(std::make_unique<Binding>(*opened.compiled->shown, opened.compiled->claim, Flush::kEnd, kPoison));
    const Outcome outcome = kept.back()->Run(*opened.compiled->context);
    if (!outcome.ok()) return run.Failed("", "execute failed: " + outcome.ToString());
    kept.back()->Close();
  }
  // A thread of the plugin that still writes ends this process; the trap reports the access.
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
}

// Several executables of one instance, each run in turns with the others.
void CheckExecutables(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kMost = 24;
  constexpr int kPerOperator = 2;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  std::vector<Compiled> all;
  std::map<std::string, int> asked;
  std::string ignored;
  for (const Case& tested : cases) {
    if (all.size() == kMost || ++asked[tested.node.name()] > kPerOperator) continue;
    if (std::optional<Compiled> compiled = CompileCase(*instance, tested, &ignored))
      all.push_back(std::move(*compiled));
  }
  if (all.empty()) return run.Skipped("it takes no case");
  for (int round = 0; round < 2; ++round)
    for (const Compiled& compiled : all) {
      const std::string wrong = Job(*compiled.tested).Run(run, compiled.claim, *compiled.context);
      if (!wrong.empty()) run.Failed(compiled.tested->name(), "in turns with other executables: " + wrong);
    }
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> ExecutionTests(const std::vector<Case>& cases) {
  return {{"execution.repeated", With(CheckRepeated, cases)},
          {"execution.contexts", With(CheckContexts, cases)},
          {"execution.executables", With(CheckExecutables, cases)},
          {"execution.late_writes", With(CheckLateWrites, cases)}};
}

}  // namespace deputy::conformance
