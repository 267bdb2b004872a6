#include "state_run.hpp"

#include <atomic>
#include <chrono>
#include <functional>

#include "concurrency.hpp"
#include "deputy/abi/ext/concurrency.h"
#include "overlap.hpp"
#include "stopped_run.hpp"
#include "surroundings.hpp"
#include "threads.hpp"

namespace deputy::conformance {
namespace {

constexpr uint32_t kUnknownFlag = 1u << 30;
constexpr int kMostOverlapping = 400;
constexpr std::chrono::milliseconds kOverlapTime(20);

class StateRun {
 public:
  using Step = std::pair<const char*, std::string (StateRun::*)()>;

  StateRun(TestRun& run, Instance& instance, const Subject& subject, Loaded& loaded, bool wholly)
      : run_(run),
        instance_(instance),
        subject_(subject),
        loaded_(loaded),
        allowed_(AllowedConcurrency(instance)),
        wholly_(wholly || run.settings().thorough) {}

  void All() {
    const Step steps[] = {{"changing data", &StateRun::Changing},
                          {"contexts in turns", &StateRun::InTurns},
                          {"other constants", &StateRun::Constants},
                          {"after a refused run", &StateRun::AfterRefusal},
                          {"after a run that ended early", &StateRun::AfterEnd},
                          {"contexts at once", &StateRun::AtOnce},
                          {"contexts end beside a run", &StateRun::EndBeside},
                          {"compiled beside a run", &StateRun::CompileBeside},
                          {"many runs", &StateRun::ManyRuns}};
    Try(steps);
  }

  // So much data that most of the time is spent inside of the runs, and constants of several pages.
  void OfLarge() {
    const Step steps[] = {{"contexts at once", &StateRun::AtOnce}, {"other constants", &StateRun::Constants}};
    Try(steps);
  }

 private:
  template <size_t kCount>
  void Try(const Step (&steps)[kCount]) {
    for (const auto& [name, step] : steps) {
      const std::string wrong = (this->*step)();
      const std::string about = subject_.name() + ", " + name;
      if (!wrong.empty()) run_.Failed(about, wrong);
      if (!run_.NoFaults(instance_.plugin(), about) || !wrong.empty()) return;
    }
    run_.Passed(subject_.name());
  }

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
    for (const Subject::Variant& variant : subject_.variants()) {
      const std::string wrong = ConstantsOf(*variant.shown);
      if (!wrong.empty()) return std::string("equal nodes with ") + variant.name + ": " + wrong;
      if (!wholly_) break;
    }
    return "";
  }

  std::string ConstantsOf(const ShownModel& variant) {
    std::string why_not;
    std::optional<Loaded> other = Load(instance_, variant, &why_not);
    if (!other) return why_not;
    std::string wrong = FaultOfRun(variant, other->claim, *other->context, computes_in());
    if (wrong.empty()) wrong = Once(*loaded_.context, 1);
    if (wrong.empty()) wrong = FaultOfRun(variant, other->claim, *other->context, computes_in());
    if (!wrong.empty()) return "in turns: " + wrong;
    if ((allowed_ & DEPUTY_CONCURRENT_EXECUTABLES) != 0) {
      wrong = InTheMidst([&] { return FaultOfRun(variant, other->claim, *other->context, computes_in()); });
      if (wrong.empty())
        wrong = Beside([&] { return FaultOfRun(variant, other->claim, *other->context, computes_in()); }, 4);
    }
    if (!wrong.empty()) return "at once: " + wrong;
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

  std::string AfterEnd() {
    return FaultAfterStops(instance_.plugin(), subject_.turn(0), {&subject_.turn(1), &subject_.turn(2)}, loaded_.claim,
                           *loaded_.context, computes_in());
  }

  // Runs the context on this thread while `other` runs on another one `rounds` times.
  std::string Beside(const std::function<std::string()>& other, int rounds) {
    std::string wrong, theirs;
    std::atomic<bool> done{false};
    Threads thread;
    const bool started = thread.Start([&] {
      for (int i = 0; i < rounds && theirs.empty(); ++i) theirs = other();
      done = true;
    });
    if (!started) return thread.why_not();
    Binding staying(subject_.turn(0), loaded_.claim, Flush::kEnd, kPoison);
    for (size_t i = 0; (!done || i < 2) && wrong.empty(); ++i)
      wrong = FaultOfRunIn(staying, subject_.turn(i), loaded_.claim, *loaded_.context, computes_in());
    thread.Join();
    return wrong.empty() ? theirs : wrong;
  }

  // Runs the context, and `other` on another thread while the run stands where it first touches one of its buffers: the
  // run has then put some of its work into memory, and not yet all of its results.
  std::string InTheMidst(const std::function<std::string()>& other) {
    const ShownModel& shown = subject_.turn(0);
    Binding binding(shown, loaded_.claim, Flush::kEnd, kPoison);
    for (size_t buffer = 0; buffer < binding.buffer_count() && !waits_for_runs_; ++buffer) {
      std::string theirs, why_not;
      bool stopped = false;
      const auto run = [&](const std::function<void()>& meanwhile) {
        binding.Assign(shown, loaded_.claim, kPoison);
        return binding.RunStopped(*loaded_.context, buffer, meanwhile, &stopped, &why_not);
      };
      bool called = false;
      const Outcome outcome = run([&] {
        called = true;
        theirs = other();
      });
      if (!why_not.empty()) return why_not;
      waits_for_runs_ = called && !stopped;
      if (!stopped || !outcome.ok()) continue;
      const std::string wrong = FaultOfValues(shown, loaded_.claim, binding.Results(), computes_in());
      if (wrong.empty() && theirs.empty()) continue;
      // A device that reads and writes the buffers by itself does not stop, but fails.
      const Outcome alone = run([] {});
      if (!alone.ok() || !FaultOfValues(shown, loaded_.claim, binding.Results(), computes_in()).empty()) continue;
      return wrong.empty() ? "a run in the midst of another one: " + theirs
                           : "a run, in the midst of which another one ran: " + wrong;
    }
    return "";
  }

  std::string AtOnce() {
    if ((allowed_ & DEPUTY_CONCURRENT_CONTEXTS) == 0) return "";
    std::string why_not;
    const std::unique_ptr<Context> second = loaded_.executable->CreateContext(&why_not);
    if (second == nullptr) return "no further context: " + why_not;
    const std::string stopped = InTheMidst([&] { return Once(*second, 1); });
    if (!stopped.empty()) return stopped;
    OverlappingRuns runs;
    runs.Add(subject_.turn(0), loaded_.claim, *loaded_.context);
    runs.Add(subject_.turn(1), loaded_.claim, *second);
    std::string wrong =
        runs.Fault(computes_in(), kMostOverlapping, run_.settings().thorough ? 10 * kOverlapTime : kOverlapTime);
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
    const ShownModel& shown = subject_.turn(0);
    const std::function<std::string()> compile = [&]() -> std::string {
      Answer refusal;
      const std::optional<Claim> claim = instance_.ClaimAll(shown.graph, &refusal);
      if (!claim) return "it does not take the same nodes while it runs";
      Outcome outcome;
      const auto made = instance_.Compile(shown.graph, *claim, &outcome);
      return made == nullptr ? "it does not compile the same nodes while it runs: " + outcome.ToString() : "";
    };
    waits_for_runs_ = false;
    const std::string stopped = InTheMidst(compile);
    return stopped.empty() ? Beside(compile, 3) : stopped;
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
  const bool wholly_;
  bool waits_for_runs_ = false;  // a call of the delegate waits until a run has ended
};

}  // namespace

bool TryState(TestRun& run, Instance& instance, const Subject& subject, bool wholly) {
  std::string why_not;
  std::optional<Loaded> loaded = Load(instance, subject.turn(0), &why_not);
  if (!why_not.empty()) run.Failed(subject.name(), why_not);
  if (!loaded) return false;
  StateRun(run, instance, subject, *loaded, wholly).All();
  return true;
}

void TryEnded(TestRun& run, Instance& instance, const Case& tested) {
  const CaseGraph shown(tested);
  std::string why_not;
  std::optional<Loaded> loaded = Load(instance, shown, &why_not);
  if (!loaded) return;
  const Case other = Turned(tested, 7);
  const CaseGraph behind(other);
  const std::string wrong = FaultAfterStops(instance.plugin(), shown, {&behind, &shown}, loaded->claim,
                                            *loaded->context, run.settings().computes_in);
  if (!run.NoFaults(instance.plugin(), tested.name())) return;
  if (wrong.empty())
    run.Passed(tested.name());
  else
    run.Failed(tested.name(), wrong);
}

void TryAtOnce(TestRun& run, Instance& instance, const Subject& subject) {
  std::string why_not;
  std::optional<Loaded> loaded = Load(instance, subject.turn(0), &why_not);
  if (loaded) StateRun(run, instance, subject, *loaded, true).OfLarge();
}

}  // namespace deputy::conformance
