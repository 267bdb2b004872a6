// Other shapes of a model: when contexts take them, when partitions are compiled for them, when everything is placed
// anew.
#include "plan/respecialize.hpp"

#include <gtest/gtest.h>

#include "partition/cost_policy.hpp"
#include "plan/make_plan.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

class Respecialization : public testing::Test {
 protected:
  std::shared_ptr<const Plan> PlanFor(int64_t rows, const Plan* sibling = nullptr) {
    const TestGraph made({{"relu", "Relu"}, {"sigmoid", "Sigmoid"}}, {DType::kFloat32, true, {rows, 4}});
    Result<std::shared_ptr<const Plan>> plan =
        MakePlan(std::make_shared<Graph>(made.graph), delegates_, options_, {nullptr, sibling});
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    return plan.ok() ? *plan : nullptr;
  }

  std::shared_ptr<TestDelegate> npu_ = TestDelegate::ForShapes("npu", true);
  std::shared_ptr<TestDelegate> last_ = TestDelegate::ForShapes("last", false);
  std::vector<HostedDelegate> delegates_{npu_, last_};
  PlacementOptions options_;
};

TEST_F(Respecialization, ContextsThatTakeTheShapesNeedNeitherAQueryNorACompile) {
  const auto first = PlanFor(2);
  const auto second = PlanFor(3, first.get());
  EXPECT_EQ(npu_->compiles, 1);
  EXPECT_EQ(npu_->queries, 1);
  EXPECT_EQ(npu_->resized_to, (std::vector<int64_t>{3, 4}));
  ASSERT_EQ(second->steps.size(), 1u);
  EXPECT_EQ(second->steps[0].origin, ExecutableOrigin::kResized);
  EXPECT_EQ(second->steps[0].executable, first->steps[0].executable);
  EXPECT_EQ(second->slots[second->graph->outputs[0]].dims, (std::vector<int64_t>{3, 4}));
}

TEST_F(Respecialization, WhatAResizedExecutableGoesOnReadingOutlivesTheFirstPlan) {
  auto first = PlanFor(2);
  const std::weak_ptr<const Graph> graph = first->graph;
  const auto third = PlanFor(5, PlanFor(3, first.get()).get());
  first = nullptr;
  EXPECT_FALSE(graph.expired());
  EXPECT_EQ(third->steps[0].compiled_from, graph.lock());
}

TEST_F(Respecialization, RecompileCompilesTheSamePartitionWithoutAQuery) {
  npu_->resize = [] { return ResizeOutcome::kRecompile; };
  const auto first = PlanFor(2);
  const auto second = PlanFor(3, first.get());
  EXPECT_EQ(npu_->compiles, 2);
  EXPECT_EQ(npu_->queries, 1);
  EXPECT_EQ(second->steps[0].origin, ExecutableOrigin::kCompiled);
  EXPECT_EQ(second->steps[0].compiled_from, nullptr);
}

TEST_F(Respecialization, UnderPolicyCostOtherShapesArePlacedAnew) {
  const auto table = std::make_shared<CostTable>();
  for (const uint64_t bytes : {64, 96}) table->Add("last", "Relu", DType::kFloat32, {WorkUnit::kBytes, bytes}, 1e6);
  table->Add("npu", "Relu", DType::kFloat32, {WorkUnit::kBytes, 64}, 1);
  options_.policy = std::make_shared<CostPolicy>(table);
  const auto first = PlanFor(2);
  const auto second = PlanFor(3, first.get());
  EXPECT_EQ(first->placement.verdicts[1][0].reason, Reason::kMoreExpensive);
  EXPECT_EQ(second->steps[0].origin, ExecutableOrigin::kCompiled);
  EXPECT_EQ(npu_->queries, 2);
}

TEST_F(Respecialization, NotSupportedPlacesAnew) {
  npu_->resize = [] { return Status(StatusCode::kNotSupported, "not these"); };
  const auto first = PlanFor(2);
  const auto second = PlanFor(3, first.get());
  EXPECT_EQ(npu_->queries, 2);
  EXPECT_EQ(npu_->compiles, 2);
  EXPECT_EQ(second->steps[0].origin, ExecutableOrigin::kCompiled);
}

TEST_F(Respecialization, ARefusedRecompilePlacesAnew) {
  npu_->resize = [] { return ResizeOutcome::kRecompile; };
  const auto first = PlanFor(2);
  npu_->compile_status = Status(StatusCode::kNotSupported, "too large");
  const auto second = PlanFor(3, first.get());
  EXPECT_EQ(npu_->queries, 2);  // for the first shapes and for the second; not again after the refusal
  EXPECT_EQ(second->placement.partitions[0].delegate, 1u);
}

TEST_F(Respecialization, AVerdictThatHangsOnShapesPlacesAnew) {
  npu_->verdict = [](const Node& node) { return node.name == "relu" ? Reason::kShape : Reason::kSupported; };
  const auto first = PlanFor(2);
  ASSERT_EQ(first->steps.size(), 2u);
  PlanFor(3, first.get());
  EXPECT_EQ(npu_->queries, 2);
}

TEST_F(Respecialization, AVerdictThatHoldsForAllShapesStays) {
  npu_->verdict = [](const Node& node) { return node.name == "relu" ? Reason::kOperatorUnknown : Reason::kSupported; };
  const auto first = PlanFor(2);
  ASSERT_EQ(first->steps.size(), 2u);
  const auto second = PlanFor(3, first.get());
  EXPECT_EQ(npu_->queries, 1);
  EXPECT_EQ(second->steps[0].origin, ExecutableOrigin::kCompiled) << "the last delegate compiles for each shape";
  EXPECT_EQ(second->steps[1].origin, ExecutableOrigin::kResized);
}

TEST_F(Respecialization, OtherConstantsAreCompiled) {
  const auto with_scale = [&](float scale, const Plan* sibling) {
    TestGraph made({{"mul", "Mul"}}, {DType::kFloat32, true, {4}});
    const ValueId factor =
        made.graph.AddConstant("factor", *Tensor::FromValues<float>(DType::kFloat32, {}, std::vector<float>{scale}));
    made.graph.nodes[0].inputs.push_back(factor);
    return *MakePlan(std::make_shared<Graph>(made.graph), delegates_, {}, {nullptr, sibling});
  };
  const auto first = with_scale(2, nullptr);
  EXPECT_EQ(with_scale(2, first.get())->steps[0].origin, ExecutableOrigin::kResized);
  EXPECT_EQ(with_scale(3, first.get())->steps[0].origin, ExecutableOrigin::kCompiled);
}

TEST_F(Respecialization, AMinimumOfWorkPlacesAnew) {
  delegates_[0].limits.min_multiply_adds = 1;
  npu_->verdict = [](const Node&) { return Reason::kSupported; };
  const auto first = PlanFor(2);
  const int queries = npu_->queries;
  PlanFor(3, first.get());
  EXPECT_GT(npu_->queries, queries);
}

TEST_F(Respecialization, NobodyWhoKeepsPartitionsPlacesAnew) {
  const auto plain = TestDelegate::ForShapes("plain", false);
  delegates_ = {plain, last_};
  const auto first = PlanFor(2);
  PlanFor(3, first.get());
  EXPECT_EQ(plain->queries, 2);
  EXPECT_EQ(plain->resizes, 0);
}

}  // namespace
}  // namespace deputy::host
