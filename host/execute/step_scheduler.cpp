#include "execute/step_scheduler.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace deputy::host {

StepScheduler::StepScheduler(const Plan& plan, std::vector<uint32_t> lane_of, size_t lanes)
    : plan_(plan),
      lane_of_(std::move(lane_of)),
      followers_(plan.steps.size(),
                 [&](const auto& add) {
                   for (uint32_t step = 0; step < plan.steps.size(); ++step)
                     for (const uint32_t earlier : plan.steps[step].waits) add(earlier, step);
                 }),
      waits_(plan.steps.size()),
      ready_(lanes) {
  std::vector<size_t> sizes(lanes);
  for (const uint32_t lane : lane_of_) ++sizes[lane];
  for (size_t lane = 0; lane < lanes; ++lane) ready_[lane].reserve(sizes[lane]);
  ended_.reserve(plan.steps.size());
}

void StepScheduler::Begin() {
  for (std::vector<uint32_t>& ready : ready_) ready.clear();
  left_ = waits_.size();
  for (uint32_t step = 0; step < waits_.size(); ++step) {
    waits_[step] = static_cast<uint32_t>(plan_.steps[step].waits.size());
    if (waits_[step] == 0) Free(step);
  }
  FreeFollowers();
}

uint32_t StepScheduler::Take(uint32_t lane) {
  std::vector<uint32_t>& ready = ready_[lane];
  if (ready.empty()) return kNone;
  std::pop_heap(ready.begin(), ready.end(), std::greater<>());
  const uint32_t step = ready.back();
  ready.pop_back();
  return step;
}

void StepScheduler::End(uint32_t step) {
  ended_.push_back(step);
  FreeFollowers();
}

void StepScheduler::Free(uint32_t step) {
  if (!plan_.steps[step].runs()) return ended_.push_back(step);
  std::vector<uint32_t>& ready = ready_[lane_of_[step]];
  ready.push_back(step);
  std::push_heap(ready.begin(), ready.end(), std::greater<>());
}

void StepScheduler::FreeFollowers() {
  while (!ended_.empty()) {
    const uint32_t step = ended_.back();
    ended_.pop_back();
    --left_;
    for (const uint32_t follower : followers_[step])
      if (--waits_[follower] == 0) Free(follower);
  }
}

}  // namespace deputy::host
