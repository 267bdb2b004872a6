// Events of runs: each with a known clock, inside its run, and with an id that maps to nodes of its partition; none
// without profiling; and results that do not depend on profiling.
#include <set>

#include "case_run.hpp"
#include "profile.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

uint64_t Now(Plugin& plugin) {
  const deputy_host* host = plugin.host().table();
  return host->clock_ns(host->self);
}

// An executable whose runs are profiled.
class Watched {
 public:
  Watched(TestRun& run, Instance& instance, Profile& profile, Compiled& compiled)
      : run_(run), instance_(instance), profile_(profile), compiled_(compiled) {}

  // Returns the number of events.
  size_t Watch() {
    const std::string subject = compiled_.name;
    std::string wrong = FaultOfMap();
    if (wrong.empty()) wrong = FaultOfRuns();
    if (!wrong.empty()) run_.Failed(subject, wrong);
    if (run_.NoFaults(instance_.plugin(), subject) && wrong.empty()) run_.Passed(subject);
    return events_;
  }

 private:
  std::string FaultOfMap() {
    Outcome outcome = profile_.Map(*compiled_.executable, compiled_.claim, &map_);
    if (!outcome.ok()) return "debug_map fails: " + outcome.ToString();
    DebugMap again;
    outcome = profile_.Map(*compiled_.executable, compiled_.claim, &again);
    return outcome.ok() && again == map_ ? "" : "debug_map answers otherwise the second time";
  }

  std::string FaultOfRuns() {
    Context& context = *compiled_.context;
    std::string wrong = Run(context, &plain_);
    if (!wrong.empty()) return wrong;
    std::string why_not;
    const std::unique_ptr<Context> other = compiled_.executable->CreateContext(&why_not);
    if (other == nullptr) return "no further context: " + why_not;
    Outcome outcome;
    EventSink* sink = profile_.TurnOn(context, &outcome);
    if (sink == nullptr) return "profiling cannot be turned on: " + outcome.ToString();
    for (int i = 0; i < 2 && wrong.empty(); ++i) {
      wrong = FaultOfProfiled(context, *sink);
      if (wrong.empty()) wrong = FaultOfUnprofiled(*other, *sink, "a run of another context");
    }
    outcome = profile_.TurnOff(context, *sink);
    if (wrong.empty() && !outcome.ok()) wrong = "profiling cannot be turned off: " + outcome.ToString();
    // An event is a fault from here on.
    if (wrong.empty()) wrong = FaultOfUnprofiled(context, *sink, "a run after profiling was turned off");
    return wrong;
  }

  std::string Run(Context& context, std::vector<std::vector<uint8_t>>* results) {
    Binding binding(*compiled_.shown, compiled_.claim, Flush::kEnd, kPoison);
    const Outcome outcome = binding.Run(context);
    *results = binding.Results();
    return outcome.ok() ? "" : "execute fails: " + outcome.ToString();
  }

  std::string FaultOfProfiled(Context& context, EventSink& sink) {
    Plugin& plugin = instance_.plugin();
    std::vector<std::vector<uint8_t>> results;
    const uint64_t begin = Now(plugin);
    const std::string wrong = Run(context, &results);
    const uint64_t end = Now(plugin);
    if (!wrong.empty()) return "with profiling, " + wrong;
    if (results != plain_) return "with profiling, the results are others";
    if (const std::string fault = FaultOfCollect(context, sink); !fault.empty()) return fault;
    const std::vector<Event> events = sink.Take();
    if (const std::string fault = FaultOfCollect(context, sink); !fault.empty()) return fault;
    if (!sink.Take().empty()) return "collect gives events again that it gave before";
    events_ += events.size();
    for (const Event& event : events) {
      const std::string fault = FaultOf(event, begin, end);
      if (!fault.empty()) return "the event '" + event.name + "' " + fault;
    }
    return "";
  }

  std::string FaultOfCollect(Context& context, EventSink& sink) {
    if (!profile_.collects()) return "";
    const Outcome outcome = profile_.Collect(context, sink);
    return outcome.ok() ? "" : "collect fails: " + outcome.ToString();
  }

  std::string FaultOf(const Event& event, uint64_t begin, uint64_t end) const {
    if (event.id != DEPUTY_NO_EVENT_ID && map_.count(event.id) == 0)
      return "has the id " + std::to_string(event.id) + ", which is not in the debug map";
    if (event.clock == DEPUTY_CLOCK_DEVICE)
      return profile_.correlates() ? "" : "is on the device's clock, and there is no correlate";
    if (event.begin_ns >= begin && event.end_ns <= end) return "";
    return "is from " + std::to_string(event.begin_ns) + " to " + std::to_string(event.end_ns) + ", its run was from " +
           std::to_string(begin) + " to " + std::to_string(end);
  }

  // This context is not profiled.
  std::string FaultOfUnprofiled(Context& context, EventSink& sink, const std::string& subject) {
    std::vector<std::vector<uint8_t>> results;
    const std::string wrong = Run(context, &results);
    if (!wrong.empty()) return subject + ": " + wrong;
    const std::vector<Event> events = sink.Take();
    return events.empty() ? "" : subject + " gives the event '" + events[0].name + "'";
  }

  TestRun& run_;
  Instance& instance_;
  Profile& profile_;
  Compiled& compiled_;
  DebugMap map_;
  std::vector<std::vector<uint8_t>> plain_;
  size_t events_ = 0;
};

// Two moments on both clocks.
void CheckClocks(TestRun& run, Instance& instance, Profile& profile) {
  ClockPair pairs[2];
  for (ClockPair& pair : pairs) {
    const uint64_t begin = Now(instance.plugin());
    const Outcome outcome = profile.Correlate(instance, &pair);
    const uint64_t end = Now(instance.plugin());
    if (!outcome.ok()) return run.Failed("", "correlate fails: " + outcome.ToString());
    if (pair.host_ns < begin || pair.host_ns > end)
      return run.Failed("", "correlate gives " + std::to_string(pair.host_ns) +
                                " as the host's clock, which was from " + std::to_string(begin) + " to " +
                                std::to_string(end));
  }
  if (pairs[1].device_ns < pairs[0].device_ns)
    run.Failed("", "the device's clock goes backwards, from " + std::to_string(pairs[0].device_ns) + " to " +
                       std::to_string(pairs[1].device_ns));
}

void CheckEvents(TestRun& run, const std::vector<Case>& cases, const std::vector<ModelCase>& models) {
  constexpr size_t kMostOperators = 12;
  const std::unique_ptr<Plugin> plugin = run.Load();
  const deputy_delegate* delegate = plugin == nullptr ? nullptr : run.Delegate(*plugin);
  if (delegate == nullptr) return;
  Profile profile(*plugin, delegate);
  if (!run.NoFaults(*plugin, "")) return;
  if (!profile.has()) return run.Skipped("it has no " DEPUTY_EXT_PROFILING);
  const std::unique_ptr<Instance> instance = run.Open(*plugin);
  if (instance == nullptr) return;
  if (profile.correlates()) CheckClocks(run, *instance, profile);
  std::set<std::string> operators;
  size_t events = 0;
  for (const Case& tested : cases) {
    if (tested.label != "plain" && tested.label != "second=constant") continue;
    if (operators.size() == kMostOperators || operators.count(tested.node.name()) != 0) continue;
    std::string ignored;
    std::optional<Compiled> compiled = CompileCase(*instance, tested, &ignored);
    if (!compiled) continue;
    operators.insert(tested.node.name());
    events += Watched(run, *instance, profile, *compiled).Watch();
  }
  for (const ModelCase& model : models) {
    std::string ignored;
    std::optional<Compiled> compiled =
        CompileShown(*instance, model.label, std::make_unique<ModelGraph>(model), &ignored);
    if (compiled) events += Watched(run, *instance, profile, *compiled).Watch();
  }
  if (operators.empty()) return run.Skipped("it takes no case");
  if (events == 0 && run.failures() == 0) run.Failed("", "it says that it profiles, and no run has an event");
  if (profile.correlates()) CheckClocks(run, *instance, profile);
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> ProfilingTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models) {
  return {{"profiling.events", With(CheckEvents, cases, models)}};
}

}  // namespace deputy::conformance
