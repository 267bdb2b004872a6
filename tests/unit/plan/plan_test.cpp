// How a plan is compiled when delegates refuse partitions, and the plan that answers a failed step.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "plan/make_plan.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    SetLogSink([this](LogLevel level, std::string_view, std::string_view message) {
      if (level == LogLevel::kWarning) warnings_.emplace_back(message);
    });
  }
  ~PlanTest() override { SetLogSink(nullptr); }

  // x -> a (A) -> b (B) -> y
  std::shared_ptr<const Plan> Make() {
    const TestGraph made({{"a", "A"}, {"b", "B"}});
    Result<std::shared_ptr<const Plan>> plan = MakePlan(std::make_shared<Graph>(made.graph), delegates_, options_);
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    return plan.ok() ? *plan : nullptr;
  }

  std::shared_ptr<TestDelegate> first_ = std::make_shared<TestDelegate>("first", std::set<std::string>{"A"});
  std::shared_ptr<TestDelegate> second_ = std::make_shared<TestDelegate>("second", std::set<std::string>{"A", "B"});
  std::shared_ptr<TestDelegate> cpu_ = std::make_shared<TestDelegate>("cpu", std::set<std::string>{"*"}, true);
  const std::vector<HostedDelegate> delegates_{first_, second_, cpu_};
  PlacementOptions options_;
  std::vector<std::string> warnings_;
};

TEST_F(PlanTest, ARefusedPartitionIsAWarningAndGoesToTheNextDelegate) {
  second_->compile_status = Status(StatusCode::kNotSupported, "too large");
  const auto plan = Make();
  EXPECT_EQ(plan->delegate_names[DelegateOf(*plan, plan->steps[1])], "cpu");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0].rfind("second refused partition second/0 (1 node) at compile: ", 0), 0u) << warnings_[0];
  EXPECT_EQ(first_->compiles, 1) << "its partition is not compiled again";
}

TEST_F(PlanTest, OfAPartitionThatFailsToCompileOnlyTheNodesAreRefusedThatAreThenGivenBack) {
  second_->verdict = [](const Node&) { return Reason::kSupported; };
  second_->compile_status = Status(StatusCode::kNotSupported, "node b fails");
  second_->estimate = [this](const PartitionSpec& partition) {
    Estimate estimate;
    const bool has_b = partition.nodes.back() == 1;
    if (second_->compiles > 0 && has_b) {
      estimate.give_back = {1};
      estimate.reason = "it has failed";
      second_->compile_status = Status();
    }
    return estimate;
  };
  const TestGraph made({{"a", "B"}, {"b", "B"}});
  const auto plan = MakePlan(std::make_shared<Graph>(made.graph), delegates_, options_);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ((*plan)->steps.size(), 2u);
  EXPECT_EQ((*plan)->delegate_names[DelegateOf(**plan, (*plan)->steps[0])], "second");
  EXPECT_EQ((*plan)->delegate_names[DelegateOf(**plan, (*plan)->steps[1])], "cpu");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0].rfind("second refused 1 node of partition second/0 (2 nodes) at compile: node b fails", 0), 0u)
      << warnings_[0];
  EXPECT_EQ((*plan)->placement.verdicts[1][1].detail, "it has failed");
}

// A claim is consumed by its compilation, so the next one for the same nodes is compiled, too.
TEST_F(PlanTest, ANewClaimIsCompiledAfterTheRefusalOfAnotherPartition) {
  first_->claims = {{0}};
  second_->compile_status = Status(StatusCode::kNotSupported, "too large");
  Make();
  EXPECT_EQ(first_->compiles, 2);
}

TEST_F(PlanTest, AnAlternativeLeavesOutTheDelegateThatFailed) {
  const auto plan = Make();
  const Refusals refused = RefuseAll(*plan, plan->steps[0], {Reason::kFailedAtRun, "no more"});
  const auto alternative = MakeAlternative(*plan, plan->steps[0], refused, delegates_, options_, {});
  ASSERT_TRUE(alternative.ok()) << alternative.status().ToString();
  EXPECT_EQ((*alternative)->delegate_names[DelegateOf(**alternative, (*alternative)->steps[0])], "second");
  EXPECT_EQ((*alternative)->placement.verdicts[0][0].reason, Reason::kFailedAtRun);
}

TEST_F(PlanTest, AReferenceIsTheCpuAlone) {
  const auto plan = Make();
  const auto reference = MakeReference(*plan, plan->steps[0], delegates_);
  ASSERT_TRUE(reference.ok()) << reference.status().ToString();
  for (const Step& step : (*reference)->steps)
    EXPECT_EQ((*reference)->delegate_names[DelegateOf(**reference, step)], "cpu");
}

// x -> a -> b -> c -> y, and d reads a, where b computes c too from x: a is still needed, c is not.
TEST_F(PlanTest, StepsWithoutReadersAreNotRunWhereNodesAreFused) {
  TestGraph made;
  made.Input("x").Node("a", "A", {"x"}).Node("b", "B", {"a"}).Node("c", "C", {"b"}).Node("d", "D", {"a"});
  made.Output("c").Output("d");
  const ValueId x = made.Value("x"), c = made.Value("c");
  std::vector<uint8_t> offered;
  cpu_->fuse = [&](const GraphView& view) {
    offered = view.offered;
    return std::vector<FusedNode>{{1, {x}, {c}, cpu_->Compile(view, {}).value()}};
  };
  first_->verdict = [](const Node&) { return Reason::kOperatorUnknown; };
  second_->verdict = [](const Node& node) { return node.name == "d" ? Reason::kSupported : Reason::kOperatorUnknown; };
  const auto plan = MakePlan(std::make_shared<Graph>(made.graph), delegates_, options_).value();
  EXPECT_EQ(offered, (std::vector<uint8_t>{1, 1, 1, 0})) << "only the CPU's own nodes are offered";
  std::map<NodeId, const Step*> steps;
  for (const Step& step : plan->steps) steps[plan->placement.partitions[step.partition].spec.nodes.front()] = &step;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_TRUE(steps[0]->runs());
  EXPECT_TRUE(steps[1]->runs());
  EXPECT_FALSE(steps[2]->runs());
  EXPECT_TRUE(steps[3]->runs());
  EXPECT_EQ(steps[1]->inputs, std::vector<ValueId>{x});
  EXPECT_EQ(steps[1]->outputs, std::vector<ValueId>{c});
  EXPECT_EQ(plan->slots[made.Value("b")].storage, StorageClass::kUnused);
}

}  // namespace
}  // namespace deputy::host
