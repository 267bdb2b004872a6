#include "execute/step_scheduler.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "plan/step_order.hpp"
#include "support/step_plan.hpp"

namespace deputy::host {
namespace {

// With the waits of its steps.
Plan OrderedPlan(const std::vector<std::vector<ValueId>>& reads) {
  Plan plan = PlanOfSteps(reads);
  const StepOrder order(plan);
  return plan;
}

TEST(StepScheduler, AStepMayBeginWhenThoseThatItWaitsForHaveEnded) {
  const Plan plan = OrderedPlan({{}, {}, {0, 1}, {1}});
  StepScheduler scheduler(plan, {0, 1, 0, 1}, 2);
  scheduler.Begin();
  EXPECT_EQ(scheduler.Take(0), 0u);
  EXPECT_EQ(scheduler.Take(0), kNone);
  EXPECT_EQ(scheduler.Take(1), 1u);
  scheduler.End(1);
  EXPECT_FALSE(scheduler.has(0));
  EXPECT_EQ(scheduler.Take(1), 3u);
  scheduler.End(0);
  EXPECT_EQ(scheduler.Take(0), 2u);
  scheduler.End(2);
  EXPECT_FALSE(scheduler.ended());
  scheduler.End(3);
  EXPECT_TRUE(scheduler.ended());
}

TEST(StepScheduler, TheFirstStepOfThePlanIsTakenFirst) {
  const Plan plan = OrderedPlan({{}, {}, {}, {}});
  StepScheduler scheduler(plan, {0, 0, 0, 0}, 1);
  scheduler.Begin();
  for (uint32_t step = 0; step < 4; ++step) EXPECT_EQ(scheduler.Take(0), step);
}

TEST(StepScheduler, StepsWithoutWorkAreNotTaken) {
  Plan plan = OrderedPlan({{}, {0}, {1}, {2}});
  plan.steps[0].is_view = plan.steps[2].is_fused = true;
  StepScheduler scheduler(plan, {0, 0, 0, 0}, 1);
  scheduler.Begin();
  EXPECT_EQ(scheduler.Take(0), 1u);
  scheduler.End(1);
  EXPECT_EQ(scheduler.Take(0), 3u);
  scheduler.End(3);
  EXPECT_TRUE(scheduler.ended());
}

TEST(StepScheduler, ARunThatWasLeftBeginsAnew) {
  const Plan plan = OrderedPlan({{}, {0}, {}});
  StepScheduler scheduler(plan, {0, 0, 1}, 2);
  for (int run = 0; run < 2; ++run) {
    scheduler.Begin();
    EXPECT_EQ(scheduler.Take(0), 0u);
    EXPECT_EQ(scheduler.Take(0), kNone);
    EXPECT_TRUE(scheduler.has(1));
  }
}

TEST(StepScheduler, EveryStepOfARandomPlanIsTakenOnceAfterThoseThatItWaitsFor) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::vector<ValueId>> reads(1 + random() % 40);
    for (ValueId id = 1; id < reads.size(); ++id)
      for (auto i = random() % 4; i > 0; --i) reads[id].push_back(static_cast<ValueId>(random() % id));
    Plan plan = OrderedPlan(reads);
    std::vector<uint32_t> lane_of(reads.size());
    for (uint32_t& lane : lane_of) lane = static_cast<uint32_t>(random() % 3);
    for (Step& step : plan.steps) step.is_view = random() % 5 == 0;
    StepScheduler scheduler(plan, lane_of, 3);
    scheduler.Begin();
    std::vector<uint32_t> running;
    std::vector<bool> ended(reads.size(), false);
    size_t left = reads.size() * 10;
    while (!scheduler.ended() && left-- > 0) {
      if (const uint32_t step = scheduler.Take(static_cast<uint32_t>(random() % 3)); step != kNone) {
        for (const ValueId read : reads[step]) ASSERT_TRUE(ended[read] || plan.steps[read].is_view) << seed;
        running.push_back(step);
      }
      if (running.empty() || random() % 2 == 0) continue;
      std::swap(running[random() % running.size()], running.back());
      ASSERT_FALSE(ended[running.back()]) << seed;
      ended[running.back()] = true;
      scheduler.End(running.back());
      running.pop_back();
    }
    EXPECT_TRUE(scheduler.ended()) << seed;
    for (uint32_t step = 0; step < reads.size(); ++step) EXPECT_NE(ended[step], plan.steps[step].is_view) << seed;
  }
}

}  // namespace
}  // namespace deputy::host
