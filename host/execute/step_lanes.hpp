// Runs steps of a plan at once: those of the first lane on the thread of the run, those of each other lane on a thread
// of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "execute/step_scheduler.hpp"

namespace deputy::host {

// What a run does with its steps.
class LaneWork {
 public:
  // On the thread of a lane other than the first. False: the thread of the run must do the rest. It must not throw.
  virtual bool RunBeside(uint32_t lane, uint32_t step) = 0;
  // On the thread of the run: a step of the first lane, or one for which RunBeside returned false. It must not throw.
  virtual Status RunHere(uint32_t step) = 0;

 protected:
  ~LaneWork() = default;
};

// One run at a time. Allocates only when it is made.
class StepLanes {
 public:
  // `lane_of`: per step of the plan, which outlives this. Fails where no thread can be started.
  static Result<std::unique_ptr<StepLanes>> Start(const Plan& plan, std::vector<uint32_t> lane_of, size_t lanes);
  ~StepLanes();
  StepLanes(const StepLanes&) = delete;
  StepLanes& operator=(const StepLanes&) = delete;

  // Each step begins when those that it waits for have ended. After RunHere has failed no further step begins; returns
  // the first failure when all that have begun have ended.
  Status Run(LaneWork& work);

 private:
  StepLanes(const Plan& plan, std::vector<uint32_t> lane_of, size_t lanes)
      : scheduler_(plan, std::move(lane_of), lanes), changed_(lanes) {
    handed_over_.reserve(plan.steps.size());
  }
  void RunLane(uint32_t lane);
  bool MayTake(uint32_t lane) const { return work_ != nullptr && !failed_ && scheduler_.has(lane); }
  // The step of the first lane, or of one that handed it over, that the thread of the run does next; kNone: none yet.
  uint32_t TakeHere();
  void End(uint32_t step);

  std::mutex mutex_;  // of all below but the threads
  StepScheduler scheduler_;
  std::vector<std::condition_variable> changed_;  // per lane
  std::vector<uint32_t> handed_over_;             // steps whose rest is the thread of the run's
  LaneWork* work_ = nullptr;                      // of the run; null: there is none
  size_t running_ = 0;                            // on the threads of lanes
  bool failed_ = false, quits_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace deputy::host
