// Runs that end in their middle: at a chosen look of the run at the host, its clock jumps past the run's deadline, or
// the run is cancelled, so that the end comes at the same place each time.
#pragma once

#include "shown_model.hpp"

namespace deputy::conformance {

enum class Ending { kDeadline, kCancel };
const char* NameOf(Ending ending);

struct StoppedRun {
  Outcome outcome;
  bool reached = false;       // the run looked so often
  bool cancel_waits = false;  // cancel did not return while the run stood in the host's parallel_for
  std::string why_not;        // the kit could not try it
};

// What is wrong where a run has `cancel_waits`.
extern const char* const kCancelWaits;

// Ends the run at its look `look`, from 1 on: of kDeadline at clock_ns, of kCancel at parallel_for and clock_ns. Cancel
// is called on another thread, while the run waits in the host until it has returned, but not for ever.
StoppedRun RunStoppedAt(Plugin& plugin, Binding& binding, Context& context, Ending ending, size_t look);

// Ends runs with the values of `shown` at several looks, and where they are in the middle of an output, and runs
// `others` in the same context behind each; what is wrong with the result of any of them, or "". All have the same
// shapes.
std::string FaultAfterStops(Plugin& plugin, const ShownModel& shown, const std::vector<const ShownModel*>& others,
                            const Claim& claim, Context& context, deputy_dtype computes_in);

}  // namespace deputy::conformance
