#include "stopped_run.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "threads.hpp"

namespace deputy::conformance {
namespace {

constexpr std::chrono::seconds kPatience(3);
constexpr std::chrono::hours kJump(1);
constexpr std::chrono::minutes kDeadline(30);

// A thread that calls cancel when it is asked to, and says when it has returned.
class Canceller {
 public:
  Canceller(Context& context, uint64_t run) {
    thread_.Start([this, &context, run] {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return asked_ || over_; });
        if (!asked_) return;
      }
      context.Cancel(run);
      const std::lock_guard lock(mutex_);
      returned_ = true;
      changed_.notify_all();
    });
  }
  ~Canceller() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    thread_.Join();
  }
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

  const std::string& why_not() const { return thread_.why_not(); }
  // False where it does not return within the patience.
  bool Cancel() {
    std::unique_lock lock(mutex_);
    asked_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, kPatience, [this] { return returned_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false, over_ = false, returned_ = false;
  Threads thread_;
};

std::string FaultOfEnd(const Outcome& outcome, Ending ending, const ShownModel& shown, const Claim& claim,
                       const Binding& binding, deputy_dtype computes_in) {
  if (outcome.code == (ending == Ending::kCancel ? DEPUTY_CANCELLED : DEPUTY_DEADLINE_EXCEEDED)) return "";
  if (!outcome.ok())
    return std::string("a run that ") + NameOf(ending) + " in its middle ends with: " + outcome.ToString();
  const std::string wrong = FaultOfValues(shown, claim, binding.Results(), computes_in);
  return wrong.empty() ? "" : std::string("a run that ") + NameOf(ending) + " in its middle succeeds: " + wrong;
}

}  // namespace

const char* const kCancelWaits =
    "cancel does not return for 3 seconds while its run is in the host's parallel_for: it must return at once, and "
    "wait for no lock that a run holds";

const char* NameOf(Ending ending) { return ending == Ending::kCancel ? "was cancelled" : "exceeded its deadline"; }

StoppedRun RunStoppedAt(Plugin& plugin, Binding& binding, Context& context, Ending ending, size_t look) {
  StoppedRun stopped;
  HostServices& host = plugin.host();
  RunSettings settings;
  std::atomic<size_t> looks{0};
  if (ending == Ending::kDeadline) {
    const auto ahead = static_cast<uint64_t>(std::chrono::nanoseconds(kDeadline).count());
    settings.deadline_ns = host.ClockNs() + ahead;
    host.SetLook([&](HostServices::Look at) {
      if (at != HostServices::Look::kClock || ++looks != look) return;
      host.AdvanceClock(kJump);
      stopped.reached = true;
    });
    stopped.outcome = binding.Run(context, settings);
  } else {
    Canceller canceller(context, context.next_run());
    stopped.why_not = canceller.why_not();
    if (!stopped.why_not.empty()) return stopped;
    host.SetLook([&](HostServices::Look at) {
      if (++looks != look) return;
      stopped.reached = true;
      stopped.cancel_waits = !canceller.Cancel() && at == HostServices::Look::kParallelFor;
    });
    stopped.outcome = binding.Run(context, settings);
  }
  host.SetLook({});
  return stopped;
}

std::string FaultAfterStops(Plugin& plugin, const ShownModel& shown, const std::vector<const ShownModel*>& others,
                            const Claim& claim, Context& context, deputy_dtype computes_in) {
  Binding binding(shown, claim, Flush::kEnd, kPoison);
  const auto fault_of = [&](const Outcome& outcome, Ending ending) {
    std::string wrong = FaultOfEnd(outcome, ending, shown, claim, binding, computes_in);
    if (!wrong.empty()) return wrong;
    for (const ShownModel* other : others) {
      wrong = FaultOfRun(*other, claim, context, computes_in);
      if (!wrong.empty())
        return std::string("in the run after one that ") + NameOf(ending) + " in its middle: " + wrong;
    }
    return wrong;
  };
  for (const Ending ending : {Ending::kDeadline, Ending::kCancel}) {
    if (ending == Ending::kCancel && !context.can_cancel()) break;
    for (const size_t look : {2, 3}) {
      binding.Assign(shown, claim, kPoison);
      const StoppedRun stopped = RunStoppedAt(plugin, binding, context, ending, look);
      if (!stopped.why_not.empty()) return stopped.why_not;
      if (!stopped.reached) break;
      if (stopped.cancel_waits) return kCancelWaits;
      const std::string wrong = fault_of(stopped.outcome, ending);
      if (!wrong.empty()) return wrong;
    }
  }
  if (!context.can_cancel()) return "";
  // Of runs that do not look at the host.
  for (size_t buffer = claim.inputs.size(); buffer < binding.buffer_count(); ++buffer) {
    std::string why_not;
    bool reached = false;
    binding.Assign(shown, claim, kPoison);
    const uint64_t number = context.next_run();
    const Outcome outcome = binding.RunStopped(
        context, buffer, [&] { context.Cancel(number); }, &reached, &why_not, Binding::Where::kMiddle);
    if (!why_not.empty()) return why_not;
    if (!reached || outcome.code != DEPUTY_CANCELLED) continue;
    const std::string wrong = fault_of(outcome, Ending::kCancel);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace deputy::conformance
