#include "plan/step_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/make_plan.hpp"
#include "support/step_plan.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

using Waits = std::vector<uint32_t>;

TEST(StepOrder, AStepWaitsForTheProducersOfWhatItReads) {
  Plan plan = PlanOfSteps({{}, {0}, {0, kNone}, {1, 2, 1}});
  const StepOrder order(plan);
  EXPECT_EQ(plan.steps[0].waits, Waits());
  EXPECT_EQ(plan.steps[1].waits, Waits({0}));
  EXPECT_EQ(plan.steps[2].waits, Waits({0}));
  EXPECT_EQ(plan.steps[3].waits, Waits({2, 1}));
  EXPECT_TRUE(order.Precedes(0, 3));
  EXPECT_FALSE(order.Precedes(1, 2));
  EXPECT_FALSE(order.Precedes(3, 0));
}

TEST(StepOrder, AProducerForWhichAnotherOneWaitsIsLeftOut) {
  Plan plan = PlanOfSteps({{}, {0}, {1}, {0, 2, 1}});
  const StepOrder order(plan);
  EXPECT_EQ(plan.steps[3].waits, Waits({2}));
}

TEST(StepOrder, CapturesOfRegionsAreWaitedFor) {
  Plan plan = PlanOfSteps({{}, {}, {}, {0}});
  plan.steps[3].branches = {{nullptr, {1}}, {nullptr, {2}}};
  const StepOrder order(plan);
  EXPECT_EQ(plan.steps[3].waits, Waits({2, 1, 0}));
}

TEST(StepOrder, ThatOfTooManyStepsIsNotKnown) {
  std::vector<std::vector<ValueId>> reads(StepOrder::kMostSteps + 1);
  for (ValueId id = 2; id < reads.size(); ++id) reads[id] = {id - 1, id - 2};
  Plan plan = PlanOfSteps(reads);
  const StepOrder order(plan);
  EXPECT_FALSE(order.is_known());
  EXPECT_FALSE(order.Precedes(1, 2));
  EXPECT_EQ(plan.steps[3].waits, Waits({2, 1}));
}

// x -> Relu of the delegate and Neg of the CPU -> Add; or all in a chain.
Plan PlanOfBranches(bool overlaps, bool chain, int64_t elements) {
  const auto npu = std::make_shared<TestDelegate>("npu", std::set<std::string>{"Relu"});
  npu->overlap = overlaps;
  const HostedDelegate delegates[] = {
      npu, std::make_shared<TestDelegate>("cpu", std::set<std::string>{"*"}, /*one_node=*/true)};
  TestGraph graph(ValueType{DType::kFloat32, true, {elements}});
  graph.Input("x").Node("a", "Relu", {"x"}).Node("b", "Neg", {chain ? "a" : "x"}).Node("y", "Add", {"a", "b"});
  graph.Output("y");
  const Result<std::shared_ptr<const Plan>> plan =
      MakePlan(std::make_shared<Graph>(std::move(graph.graph)), delegates, {});
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return plan.ok() ? **plan : Plan();
}

TEST(StepOrder, APlanOverlapsIfADelegateLeavesTheCpuEnoughToDo) {
  constexpr int64_t kMuch = 1 << 17;
  const Plan plan = PlanOfBranches(/*overlaps=*/true, /*chain=*/false, kMuch);
  EXPECT_TRUE(plan.overlaps);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_TRUE(plan.steps[0].overlaps);
  EXPECT_FALSE(plan.steps[1].overlaps);
  EXPECT_EQ(plan.steps[2].waits, Waits({1, 0}));
  EXPECT_TRUE(plan.steps[0].may_overlap && plan.steps[1].may_overlap);
  EXPECT_FALSE(plan.steps[2].may_overlap);
}

TEST(StepOrder, OtherPlansRunInOrder) {
  constexpr int64_t kMuch = 1 << 17;
  const Plan plans[] = {PlanOfBranches(/*overlaps=*/false, /*chain=*/false, kMuch),
                        PlanOfBranches(/*overlaps=*/true, /*chain=*/true, kMuch),
                        PlanOfBranches(/*overlaps=*/true, /*chain=*/false, 100)};
  for (const Plan& plan : plans) {
    EXPECT_FALSE(plan.overlaps);
    for (const Step& step : plan.steps) {
      EXPECT_FALSE(step.overlaps);
      EXPECT_EQ(step.waits, Waits());
    }
  }
}

}  // namespace
}  // namespace deputy::host
