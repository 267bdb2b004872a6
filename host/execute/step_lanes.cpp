#include "execute/step_lanes.hpp"

#include <utility>

#include "base/thread.hpp"

namespace deputy::host {

Result<std::unique_ptr<StepLanes>> StepLanes::Start(const Plan& plan, std::vector<uint32_t> lane_of, size_t lanes) {
  std::unique_ptr<StepLanes> made(new StepLanes(plan, std::move(lane_of), lanes));
  made->threads_.reserve(lanes);
  for (uint32_t lane = 1; lane < lanes; ++lane) {
    DEPUTY_ASSIGN_OR_RETURN(std::thread thread, StartThread([self = made.get(), lane] { self->RunLane(lane); }));
    made->threads_.push_back(std::move(thread));
  }
  return made;
}

StepLanes::~StepLanes() {
  {
    const std::lock_guard lock(mutex_);
    quits_ = true;
  }
  for (std::condition_variable& changed : changed_) changed.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status StepLanes::Run(LaneWork& work) {
  Status failure;
  std::unique_lock lock(mutex_);
  scheduler_.Begin();
  failed_ = false;
  work_ = &work;
  for (uint32_t lane = 1; lane < changed_.size(); ++lane)
    if (scheduler_.has(lane)) changed_[lane].notify_one();
  while (!scheduler_.ended()) {
    const uint32_t step = failed_ ? kNone : TakeHere();
    if (step == kNone) {
      if (failed_ && running_ == 0) break;
      changed_[0].wait(lock);
      continue;
    }
    lock.unlock();
    Status status = work.RunHere(step);
    lock.lock();
    if (status.ok()) {
      End(step);
    } else {
      failure = std::move(status);
      failed_ = true;
    }
  }
  work_ = nullptr;
  handed_over_.clear();
  return failure;
}

uint32_t StepLanes::TakeHere() {
  if (handed_over_.empty()) return scheduler_.Take(0);
  const uint32_t step = handed_over_.back();
  handed_over_.pop_back();
  return step;
}

void StepLanes::End(uint32_t step) {
  scheduler_.End(step);
  for (uint32_t lane = 1; lane < changed_.size(); ++lane)
    if (scheduler_.has(lane)) changed_[lane].notify_one();
}

void StepLanes::RunLane(uint32_t lane) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_[lane].wait(lock, [&] { return quits_ || MayTake(lane); });
    if (quits_) return;
    const uint32_t step = scheduler_.Take(lane);
    ++running_;
    LaneWork& work = *work_;
    lock.unlock();
    const bool ended = work.RunBeside(lane, step);
    lock.lock();
    --running_;
    if (ended) {
      End(step);
    } else {
      handed_over_.push_back(step);
    }
    changed_[0].notify_one();
  }
}

}  // namespace deputy::host
