// The steps of a plan that may begin as others end, by lane: the first lane is the thread of the run, each other one
// runs the steps of one delegate, one at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/compressed_lists.hpp"
#include "plan/plan.hpp"

namespace deputy::host {

// Allocates only when it is made. One thread at a time. The plan outlives it.
class StepScheduler {
 public:
  // `lane_of`: per step of the plan.
  StepScheduler(const Plan& plan, std::vector<uint32_t> lane_of, size_t lanes);

  // Before the first step of a run.
  void Begin();
  // Takes the first step, in the order of the plan, that may begin in the lane; kNone: there is none now.
  uint32_t Take(uint32_t lane);
  bool has(uint32_t lane) const { return !ready_[lane].empty(); }
  // A step that was taken has ended.
  void End(uint32_t step);
  // All steps have ended.
  bool ended() const { return left_ == 0; }

 private:
  // None of the steps that this one waits for is left.
  void Free(uint32_t step);
  // Frees the followers of steps that have ended.
  void FreeFollowers();

  const Plan& plan_;
  const std::vector<uint32_t> lane_of_;
  const CompressedLists followers_;           // per step, those that wait for it
  std::vector<uint32_t> waits_;               // per step: how many of those that it waits for have not ended
  std::vector<std::vector<uint32_t>> ready_;  // per lane, a heap: the first step of the plan at the front
  std::vector<uint32_t> ended_;               // whose followers are still to be freed
  size_t left_ = 0;
};

}  // namespace deputy::host
