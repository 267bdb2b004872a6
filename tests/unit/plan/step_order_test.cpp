#include "plan/step_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/make_plan.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

using Waits = std::vector<uint32_t>;

// Steps that make one value each, of the number of the step.
Plan PlanOf(const std::vector<std::vector<ValueId>>& reads) {
  Plan plan;
  auto graph = std::make_shared<Graph>();
  for (ValueId id = 0; id < reads.size(); ++id) {
    graph->AddValue("", {});
    Step& step = plan.steps.emplace_back();
    step.inputs = reads[id];
    step.outputs = {id};
  }
  plan.graph = std::move(graph);
  return plan;
}

TEST(StepOrder, AStepWaitsForTheProducersOfWhatItReads) {
  Plan plan = PlanOf({{}, {0}, {0, kNone}, {1, 2, 1}});
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
  Plan plan = PlanOf({{}, {0}, {1}, {0, 2, 1}});
  const StepOrder order(plan);
  EXPECT_EQ(plan.steps[3].waits, Waits({2}));
}

TEST(StepOrder, CapturesOfRegionsAreWaitedFor) {
  Plan plan = PlanOf({{}, {}, {}, {0}});
  plan.steps[3].branches = {{nullptr, {1}}, {nullptr, {2}}};
  const StepOrder order(plan);
  EXPECT_EQ(plan.steps[3].waits, Waits({2, 1, 0}));
}

TEST(StepOrder, ThatOfTooManyStepsIsNotKnown) {
  std::vector<std::vector<ValueId>> reads(StepOrder::kMostSteps + 1);
  for (ValueId id = 2; id < reads.size(); ++id) reads[id] = {id - 1, id - 2};
  Plan plan = PlanOf(reads);
  const StepOrder order(plan);
  EXPECT_FALSE(order.is_known());
  EXPECT_FALSE(order.Precedes(1, 2));
  EXPECT_EQ(plan.steps[3].waits, Waits({2, 1}));
}

TEST(StepOrder, APlanOverlapsIfADelegateOfItsStepsDoes) {
  const auto npu = std::make_shared<TestDelegate>("npu", std::set<std::string>{"Relu"});
  const HostedDelegate delegates[] = {
      npu, std::make_shared<TestDelegate>("cpu", std::set<std::string>{"*"}, /*one_node=*/true)};
  for (const bool overlaps : {false, true})
    for (const char* op : {"Relu", "Neg"}) {
      npu->overlap = overlaps;
      const auto graph = std::make_shared<Graph>(TestGraph({{"a", op}, {"y", "Abs"}}).graph);
      const Result<std::shared_ptr<const Plan>> plan = host::MakePlan(graph, delegates, {});
      ASSERT_TRUE(plan.ok()) << plan.status().ToString();
      EXPECT_EQ((*plan)->overlaps, overlaps && op == std::string("Relu"));
      EXPECT_EQ((*plan)->steps[1].waits, (*plan)->overlaps ? Waits({0}) : Waits());
    }
}

}  // namespace
}  // namespace deputy::host
