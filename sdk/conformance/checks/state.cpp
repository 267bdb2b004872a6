// State that outlives its run, for each operator and for partitions of several nodes: buffers that move and buffers
// that stay, contexts in turns and at once, equal nodes with other constants, failed runs, contexts that end while
// others run, compilation beside runs, and memory that runs lose.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "cases/pieces.hpp"
#include "concurrency.hpp"
#include "deputy/abi/ext/concurrency.h"
#include "overlap.hpp"
#include "probing/forms.hpp"
#include "probing/subject.hpp"
#include "probing/taken_cases.hpp"
#include "surroundings.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

constexpr uint32_t kUnknownFlag = 1u << 30;
constexpr int kMostOverlapping = 400;
constexpr std::chrono::milliseconds kOverlapTime(20);

class StateRun {
 public:
  StateRun(TestRun& run, Instance& instance, const Subject& subject, Loaded& loaded)
      : run_(run), instance_(instance), subject_(subject), loaded_(loaded), allowed_(AllowedConcurrency(instance)) {}

  void All() {
    const std::pair<const char*, std::string (StateRun::*)()> steps[] = {
        {"changing data", &StateRun::Changing},
        {"contexts in turns", &StateRun::InTurns},
        {"other constants", &StateRun::Constants},
        {"after a refused run", &StateRun::AfterRefusal},
        {"contexts at once", &StateRun::AtOnce},
        {"contexts end beside a run", &StateRun::EndBeside},
        {"compiled beside a run", &StateRun::CompileBeside},
        {"many runs", &StateRun::ManyRuns}};
    for (const auto& [name, step] : steps) {
      const std::string wrong = (this->*step)();
      const std::string about = subject_.name() + ", " + name;
      if (!wrong.empty()) run_.Failed(about, wrong);
      if (!run_.NoFaults(instance_.plugin(), about) || !wrong.empty()) return;
    }
    run_.Passed(subject_.name());
  }

 private:
  deputy_dtype computes_in() const { return run_.settings().computes_in; }
  std::string Once(Context& context, size_t turn) const {
    return FaultOfRun(subject_.turn(turn), loaded_.claim, context, computes_in());
  }
  std::string After(const char* event, const std::string& wrong) const {
    return wrong.empty() ? "" : std::string("after ") + event + ": " + wrong;
  }

  std::string Changing() {
    Binding staying(subject_.turn(0), loaded_.claim, Flush::kBegin, kPoison);
    for (size_t i = 0; i < 3 * Subject::kTurns; ++i) {
      std::string wrong = FaultOfRunIn(staying, subject_.turn(i), loaded_.claim, *loaded_.context, computes_in());
      if (!wrong.empty()) return "in the buffers of the run before, with other data: " + wrong;
      if (i % 3 != 1) continue;
      wrong = Once(*loaded_.context, i + 1);
      if (!wrong.empty()) return "in other buffers: " + wrong;
    }
    for (const auto& changed : subject_.changed_inside()) {
      std::string wrong = FaultOfRunIn(staying, subject_.turn(0), loaded_.claim, *loaded_.context, computes_in());
      if (wrong.empty()) wrong = FaultOfRunIn(staying, *changed, loaded_.claim, *loaded_.context, computes_in());
      if (!wrong.empty()) return "in the buffers of the run before, with one element changed: " + wrong;
    }
    return "";
  }

  std::string InTurns() {
    std::string why_not;
    const std::unique_ptr<Context> other = loaded_.executable->CreateContext(&why_not);
    if (other == nullptr) return "no further context: " + why_not;
    Binding first(subject_.turn(0), loaded_.claim, Flush::kEnd, kPoison);
    Binding second(subject_.turn(1), loaded_.claim, Flush::kEnd, kPoison);
    for (size_t i = 0; i < Subject::kTurns; ++i) {
      std::string wrong = FaultOfRunIn(first, subject_.turn(i), loaded_.claim, *loaded_.context, computes_in());
      if (wrong.empty()) wrong = FaultOfRunIn(second, subject_.turn(i + 2), loaded_.claim, *other, computes_in());
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  // The same names, numbers and shapes with other constants: a cache must not take one for the other.
  std::string Constants() {
    const ShownModel* variant = subject_.variant();
    std::string why_not;
    if (variant == nullptr) return "";
    std::optional<Loaded> other = Load(instance_, *variant, &why_not);
    if (!other) return why_not;
    std::string wrong = FaultOfRun(*variant, other->claim, *other->context, computes_in());
    if (wrong.empty()) wrong = Once(*loaded_.context, 1);
    if (wrong.empty()) wrong = FaultOfRun(*variant, other->claim, *other->context, computes_in());
    if (!wrong.empty()) return "equal nodes with other constants in turns: " + wrong;
    if ((allowed_ & DEPUTY_CONCURRENT_EXECUTABLES) != 0)
      wrong = Beside([&] { return FaultOfRun(*variant, other->claim, *other->context, computes_in()); }, 8);
    if (!wrong.empty()) return "equal nodes with other constants at once: " + wrong;
    other.reset();
    return After("an executable with other constants was destroyed", Once(*loaded_.context, 2));
  }

  std::string AfterRefusal() {
    Binding binding(subject_.turn(0), loaded_.claim, Flush::kEnd, kPoison);
    RunSettings unknown;
    unknown.flags = kUnknownFlag;
    const Outcome refused = binding.Run(*loaded_.context, unknown);
    if (refused.code != DEPUTY_INVALID_ARGUMENT)
      return "a run with an unknown flag is not refused as an invalid argument, but: " + refused.ToString();
    std::string wrong = After("a refused run", Once(*loaded_.context, 1));
    if (!wrong.empty()) return wrong;
    RunSettings late;
    late.deadline_ns = 1;
    const Outcome ended = binding.Run(*loaded_.context, late);
    if (!ended.ok() && ended.code != DEPUTY_DEADLINE_EXCEEDED)
      return "a run whose deadline has passed ends neither well nor as deadline exceeded, but: " + ended.ToString();
    return After("a run whose deadline had passed", Once(*loaded_.context, 2));
  }

  // Runs the context on this thread while `other` runs on another one `rounds` times.
  std::string Beside(const std::function<std::string()>& other, int rounds) {
    std::string wrong, theirs;
    std::atomic<bool> done{false};
    std::thread thread([&] {
      for (int i = 0; i < rounds && theirs.empty(); ++i) theirs = other();
      done = true;
    });
    Binding staying(subject_.turn(0), loaded_.claim, Flush::kEnd, kPoison);
    for (size_t i = 0; (!done || i < 2) && wrong.empty(); ++i)
      wrong = FaultOfRunIn(staying, subject_.turn(i), loaded_.claim, *loaded_.context, computes_in());
    thread.join();
    return wrong.empty() ? theirs : wrong;
  }

  std::string AtOnce() {
    if ((allowed_ & DEPUTY_CONCURRENT_CONTEXTS) == 0) return "";
    std::string why_not;
    const std::unique_ptr<Context> second = loaded_.executable->CreateContext(&why_not);
    if (second == nullptr) return "no further context: " + why_not;
    OverlappingRuns runs;
    runs.Add(subject_.turn(0), loaded_.claim, *loaded_.context);
    runs.Add(subject_.turn(1), loaded_.claim, *second);
    std::string wrong = runs.Fault(computes_in(), kMostOverlapping, kOverlapTime);
    if (!wrong.empty()) return wrong;
    size_t turn = 1;
    return Beside([&] { return Once(*second, turn++); }, 8);
  }

  std::string EndBeside() {
    if (IsSerial(instance_)) return "";
    std::string why_not;
    return Beside(
        [&]() -> std::string {
          const std::unique_ptr<Context> passing = loaded_.executable->CreateContext(&why_not);
          return passing == nullptr ? "no further context: " + why_not : "";
        },
        12);
  }

  std::string CompileBeside() {
    if (!LoadsWhileRunning(instance_)) return "";
    std::string why_not;
    const ShownModel& shown = subject_.turn(0);
    return Beside(
        [&]() -> std::string {
          Answer refusal;
          const std::optional<Claim> claim = instance_.ClaimAll(shown.graph, &refusal);
          if (!claim) return "it does not take the same nodes while it runs";
          Outcome outcome;
          const auto made = instance_.Compile(shown.graph, *claim, &outcome);
          return made == nullptr ? "it does not compile the same nodes while it runs: " + outcome.ToString() : "";
        },
        3);
  }

  std::string ManyRuns() {
    constexpr int kRuns = 64, kWindows = 6;
    Binding binding(subject_.turn(0), loaded_.claim, Flush::kEnd, kPoison);
    const size_t statuses = instance_.plugin().host().statuses_out();
    int64_t least = INT64_MAX;
    for (int window = 0; window < kWindows; ++window) {
      const Usage before = Usage::Take();
      for (int i = 0; i < kRuns; ++i)
        if (const Outcome outcome = binding.Run(*loaded_.context); !outcome.ok())
          return "execute failed in run " + std::to_string(i) + ": " + outcome.ToString();
      const Usage after = Usage::Take();
      least = std::min(least, static_cast<int64_t>(after.bytes) - static_cast<int64_t>(before.bytes));
      if (least <= 0) break;
    }
    if (least >= 16 * kRuns / 2) return "about " + std::to_string(least / kRuns) + " bytes of memory are lost per run";
    if (instance_.plugin().host().statuses_out() > statuses) return "statuses are made and never returned";
    const std::string wrong = FaultOfRunIn(binding, subject_.turn(0), loaded_.claim, *loaded_.context, computes_in());
    return After("many runs", wrong);
  }

  TestRun& run_;
  Instance& instance_;
  const Subject& subject_;
  Loaded& loaded_;
  const uint32_t allowed_;
};

// False where the delegate does not take the nodes.
bool TrySubject(TestRun& run, Instance& instance, const Subject& subject) {
  std::string why_not;
  std::optional<Loaded> loaded = Load(instance, subject.turn(0), &why_not);
  if (!why_not.empty()) run.Failed(subject.name(), why_not);
  if (!loaded) return false;
  StateRun(run, instance, subject, *loaded).All();
  return true;
}

// A case of thousands of elements, of the same type and rank.
std::optional<Case> LargerThan(const Case& tested, uint64_t seed) {
  constexpr int64_t kElements = 4096;
  std::optional<Form> form = FormOf(tested);
  if (!form || form->dims.empty() || reference::CountOf(form->dims) == 0) return std::nullopt;
  Dims& dims = form->dims;
  if (dims.size() == 1) {
    dims[0] = kElements;
  } else if (dims.size() == 2) {
    dims = {64, kElements / 64};
  } else {
    int64_t rest = 1;
    for (size_t i = 0; i + 2 < dims.size(); ++i) rest *= dims[i];
    dims[dims.size() - 2] = std::max<int64_t>(2, kElements / 64 / rest);
    dims.back() = 64;
  }
  const std::optional<Case> larger = CaseIn(tested.node.name(), *form, seed);
  return larger;
}

// Two contexts at once with so much data that most of the time is spent inside the runs.
void CheckLargeAtOnce(TestRun& run, Instance& instance, const Case& tested) {
  if ((AllowedConcurrency(instance) & DEPUTY_CONCURRENT_CONTEXTS) == 0) return;
  const Case turned = Turned(tested, 1);
  const CaseGraph shown(tested), other(turned);
  std::string why_not;
  const std::optional<Loaded> loaded = Load(instance, shown, &why_not);
  if (!loaded) return;  // numerics says so
  const std::unique_ptr<Context> second = loaded->executable->CreateContext(&why_not);
  if (second == nullptr) return run.Failed(tested.name(), "no further context: " + why_not);
  OverlappingRuns runs;
  runs.Add(shown, loaded->claim, *loaded->context);
  runs.Add(other, loaded->claim, *second);
  const std::string wrong = runs.Fault(run.settings().computes_in, kMostOverlapping, 2 * kOverlapTime);
  if (!wrong.empty()) run.Failed(tested.name() + ", contexts at once", wrong);
  if (run.NoFaults(instance.plugin(), tested.name()) && wrong.empty()) run.Passed(tested.name());
}

void CheckOperator(TestRun& run, const std::vector<const Case*>& cases) {
  constexpr size_t kMost = 2;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  TakenCases search(*instance, cases, run.settings().seed);
  const std::vector<Case> taken = search.First(kMost);
  for (auto i = static_cast<size_t>(run.first_case()); i < taken.size(); ++i) {
    run.BeginCase(static_cast<int64_t>(i), taken[i].name());
    (void)TrySubject(run, *instance, Subject(taken[i]));
  }
  if (!taken.empty() && run.failures() == 0 && run.first_case() <= static_cast<int64_t>(taken.size()))
    if (const std::optional<Case> larger = LargerThan(taken[0], run.settings().seed)) {
      run.BeginCase(static_cast<int64_t>(taken.size()), larger->name());
      CheckLargeAtOnce(run, *instance, *larger);
    }
  if (taken.empty()) run.Skipped("it takes no node of this operator");
}

void CheckPartitions(TestRun& run, const std::vector<ModelCase>& models) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  bool any = false;
  for (auto i = static_cast<size_t>(run.first_case()); i < models.size(); ++i) {
    run.BeginCase(static_cast<int64_t>(i), models[i].label);
    any = TrySubject(run, *instance, Subject(models[i])) || any;
  }
  if (!any) run.Skipped("it takes no model of several nodes whole");
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
  tests.push_back({"state.partitions", With(CheckPartitions, models)});
  tests.push_back({"leaks.thousands", With(CheckThousands, cases)});
  return tests;
}

}  // namespace deputy::conformance
