// Runs of a plan whose steps overlap: steps of a delegate whose runs leave the CPU free are begun on a thread of that
// delegate. What a failure, a verification or an unavailable device makes of them is done on the thread of the run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "execute/bound_step.hpp"
#include "execute/step_lanes.hpp"

namespace deputy::host {

// One run at a time.
class Execution::OverlappedRun final : private LaneWork {
 public:
  // Null, with a line in the log, where no thread can be started. The execution outlives it.
  static std::unique_ptr<OverlappedRun> Make(Execution& execution);

  // As Execution::Run.
  Status Run(const CancellationToken& token, std::span<StepSpan> spans);

 private:
  // A lane's own, so that several delegates can be in a run that is cancelled.
  struct Lane {
    explicit Lane(MemoryBudget* budget) : scratch(budget) {}
    Scratch scratch;
    CancelHook hook;
    CancellationToken token;
  };
  // A step, and what is left to do of it for the thread of the run.
  enum class Rest : uint8_t { kAll, kAlternative, kOwnRun, kFailure };
  struct Turn {
    BoundStep* step = nullptr;  // null where there is nothing to run
    Rest rest = Rest::kAll;
    Status failure;  // with kFailure
  };

  explicit OverlappedRun(Execution& execution);
  static void CancelLanes(void* self);
  bool RunBeside(uint32_t lane, uint32_t index) override;
  Status RunHere(uint32_t index) override;
  Status RunRest(uint32_t index);

  Execution& execution_;
  std::vector<Turn> turns_;  // per step of the plan
  std::vector<std::unique_ptr<Lane>> lanes_;
  const CancellationScope* scope_ = nullptr;  // of the run
  std::span<StepSpan> spans_;
  std::unique_ptr<StepLanes> threads_;
};

}  // namespace deputy::host
