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
    Binding binding(shown, claim, Flush::kEnd, kPoison);
    const Outcome outcome = binding.Run(context);
    if (!outcome.ok()) return "execute failed: " + outcome.ToString();
    return FaultOfValues(shown, claim, binding.Results(), run.settings().computes_in);
  }
};

struct Prepared {
  std::unique_ptr<Plugin> plugin;
  std::unique_ptr<Instance> instance;
  std::optional<Compiled> compiled;
};

Prepared Prepare(TestRun& run, const std::vector<Case>& cases) {
  Prepared prepared;
  prepared.plugin = run.Load();
  if (prepared.plugin == nullptr) return prepared;
  prepared.instance = run.Open(*prepared.plugin);
  if (prepared.instance == nullptr) return prepared;
  prepared.compiled = CompileAnyCase(*prepared.instance, cases);
  if (!prepared.compiled) run.Skipped("it takes no case");
  return prepared;
}

void CheckRepeated(TestRun& run, const std::vector<Case>& cases) {
  constexpr int kRuns = 50;
  Prepared prepared = Prepare(run, cases);
  if (!prepared.compiled) return;
  const Job plain(*prepared.compiled->tested), other(Turned(*prepared.compiled->tested, 1));
  for (int i = 0; i < kRuns; ++i) {
    const std::string wrong =
        (i % 3 == 2 ? other : plain).Run(run, prepared.compiled->claim, *prepared.compiled->context);
    if (!wrong.empty()) return run.Failed("", "run " + std::to_string(i + 1) + " in one context: " + wrong);
  }
  run.NoFaults(*prepared.plugin, "");
}

void CheckContexts(TestRun& run, const std::vector<Case>& cases) {
  constexpr int kContexts = 3, kRounds = 5;
  Prepared prepared = Prepare(run, cases);
  if (!prepared.compiled) return;
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < kContexts; ++i) {
    std::string why_not;
    contexts.push_back(prepared.compiled->executable->CreateContext(&why_not));
    if (contexts.back() == nullptr) return run.Failed("", "no further context: " + why_not);
    jobs.push_back(std::make_unique<Job>(Turned(*prepared.compiled->tested, static_cast<size_t>(i))));
  }
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < contexts.size(); ++i) {
      const std::string wrong = jobs[i]->Run(run, prepared.compiled->claim, *contexts[i]);
      if (!wrong.empty()) return run.Failed("", "contexts in turns: " + wrong);
    }
  run.NoFaults(*prepared.plugin, "");
}

void CheckLateWrites(TestRun& run, const std::vector<Case>& cases) {
  Prepared prepared = Prepare(run, cases);
  if (!prepared.compiled) return;
  std::vector<std::unique_ptr<Binding>> kept;
  for (int i = 0; i < 4; ++i) {
    kept.push_back(
        std::make_unique<Binding>(*prepared.compiled->shown, prepared.compiled->claim, Flush::kEnd, kPoison));
    const Outcome outcome = kept.back()->Run(*prepared.compiled->context);
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
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  const std::unique_ptr<Instance> instance = run.Open(*plugin);
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
  const auto with = [&cases](void (*check)(TestRun&, const std::vector<Case>&)) {
    return [&cases, check](TestRun& run) { check(run, cases); };
  };
  return {{"execution.repeated", with(CheckRepeated)},
          {"execution.contexts", with(CheckContexts)},
          {"execution.executables", with(CheckExecutables)},
          {"execution.late_writes", with(CheckLateWrites)}};
}

}  // namespace deputy::conformance
