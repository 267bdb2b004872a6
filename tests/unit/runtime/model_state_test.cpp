// A model between its graph and its plans, and what becomes of a delegate's failures.
#include "runtime/model_state.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "support/digits.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

const ValueType kRows{DType::kFloat32, true, {SymbolDim(0), 3}};

TestGraph OneNode(const std::string& op, const ValueType& type = {DType::kFloat32, true, {4}}) {
  return TestGraph({std::pair("y", op)}, type);
}

class ModelStateTest : public testing::Test {
 protected:
  ModelStateTest() {
    engine_->delegates = {TestDelegate::ForShapes("npu", true), TestDelegate::ForShapes("cpu", false)};
    engine_->delegates.front().health = std::make_shared<DelegateHealth>();
    engine_->incidents = std::make_shared<IncidentLog>(2);
    state_->name = "m";
  }
  Status Prepare(TestGraph graph) {
    graph.graph.AddSymbol("n");
    Status status = state_->Prepare(std::move(graph.graph), *engine_);
    if (status.ok()) plans_ = std::make_unique<ModelPlans>(*state_, engine_);
    return status;
  }
  std::shared_ptr<const Plan> PlanFor(int64_t rows) {
    const auto planned = plans_->PlanFor(std::vector<Shape>{{rows, 3}});
    EXPECT_TRUE(planned.ok()) << planned.status().ToString();
    return planned.ok() ? planned->plan : nullptr;
  }

  const LogLines log_{deputy::LogLevel::kDebug};
  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>();
  std::unique_ptr<Model::State> state_ = std::make_unique<Model::State>();
  std::unique_ptr<ModelPlans> plans_;
};

TEST_F(ModelStateTest, ShapesMustFitTheInputs) {
  ASSERT_TRUE(Prepare(TestGraph(kRows).Input("x").Input("z").Node("y", "Add", {"x", "z"}).Output("y")).ok());
  const std::vector<std::pair<std::vector<Shape>, std::string>> cases = {
      {{{2, 3}, {2, 3}}, "ok"},
      {{{2, 3}}, "m: 1 inputs given, the model has 2"},
      {{{2}, {2, 3}}, "m: input 'x' is [2], the model takes float32 [n,3] (another rank)"},
      {{{2, 4}, {2, 3}}, "m: input 'x' is [2,4], the model takes float32 [n,3]"},
      {{{-1, 3}, {2, 3}}, "m: input 'x' is [?,3], the model takes float32 [n,3] (an extent is negative)"},
      {{{2, 3}, {4, 3}}, "m: input 'z' is [4,3], the model takes float32 [n,3] ('n' is 2 elsewhere)"}};
  for (const auto& [shapes, message] : cases) EXPECT_EQ(state_->CheckShapes(shapes).ToString(), message);
}

TEST_F(ModelStateTest, TheMostRecentlyUsedPlansAreKept) {
  engine_->plans_kept = 8;
  ASSERT_TRUE(Prepare(OneNode("Relu", kRows)).ok());
  std::vector<std::shared_ptr<const Plan>> plans;
  for (int64_t rows = 1; rows <= 8; ++rows) plans.push_back(PlanFor(rows));
  EXPECT_EQ(PlanFor(1), plans[0]);
  PlanFor(9);
  EXPECT_EQ(PlanFor(1), plans[0]);
  EXPECT_EQ(PlanFor(3), plans[2]);
  EXPECT_NE(PlanFor(2), plans[1]);
}

TEST_F(ModelStateTest, R174_DecisionsAreBounded) {
  ASSERT_TRUE(Prepare(OneNode("Relu", kRows)).ok());
  const MutexLock lock(plans_->fallback->mutex);
  const auto keep = [&](int64_t rows) { plans_->KeepDecision({{rows, 3}}, {}); };
  for (int64_t rows = 0; rows < 5000; ++rows) keep(rows);
  const size_t kept = plans_->decisions().size();
  EXPECT_LE(kept, 1024u);
  EXPECT_TRUE(plans_->decisions().count({{4999, 3}}));
  for (int round = 0; round < 3; ++round) keep(4999);  // known already
  EXPECT_EQ(plans_->decisions().size(), kept);
}

TEST_F(ModelStateTest, EachNodeIsInferredOnceForInputsOfFixedShape) {
  int calls = 0;
  engine_->passes.foreign = [&](InferenceContext& context) {
    ++calls;
    return context.Output(DType::kInt64, {7});
  };
  ASSERT_TRUE(Prepare(OneNode("Own")).ok());
  ASSERT_TRUE(plans_->PlanFor(state_->static_shapes()).ok());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(state_->outputs[0].dtype, DType::kInt64) << "the outputs are those of the same inference";
  EXPECT_EQ(state_->outputs[0].shape, Shape{7});
}

TEST_F(ModelStateTest, AValueThatCannotBeComputedIsAnErrorOnceTheShapesAreKnown) {
  engine_->passes.evaluator = [](const Node&, std::span<const Tensor>) { return Error(StatusCode::kModel, "broken"); };
  for (const bool fixed : {false, true}) {
    ValueType type = kRows;
    if (fixed) type.dims[0] = 2;
    TestGraph made(type);
    made.Input("x").Node("folded", "Relu", {"c"}).Node("y", "Add", {"x", "folded"}).Output("y");
    Value& constant = made.graph.values[made.Value("c")];
    constant.type.dims = {1, 3};
    constant.constant = *Tensor::Allocate(DType::kFloat32, {1, 3});
    EXPECT_EQ(Prepare(made).ToString(), fixed ? "m: node 'folded' (Relu): broken" : "ok");
    EXPECT_EQ(state_->outputs[0].dims, (std::vector<std::string>{"n", "3"}));
  }
}

TEST_F(ModelStateTest, TheLogNamesTheConsequenceOfAFailure) {
  SetLogLevel(LogLevel::kDebug);
  ASSERT_TRUE(Prepare(OneNode("Relu")).ok());
  const std::shared_ptr<const Plan> plan = plans_->PlanFor(state_->static_shapes())->plan;
  const Status ok, broken(StatusCode::kInternal, "broken"), lost(StatusCode::kDeviceLost, "lost");
  ASSERT_TRUE(plans_->fallback->CreateAlternative(*plan, plan->steps[0], broken, {}).ok());
  bool is_first_of_loss = true;
  const auto expect = [&](const Status& why, const Status& result, const std::string& consequence) {
    plans_->fallback->Report(*plan, plan->steps[0], {why, is_first_of_loss}, result);
    EXPECT_NE(log_.last().find(why.ToString() + "; cpu " + consequence), std::string::npos) << log_.last();
  };
  expect(broken, broken, "failed to run it as well");
  expect(lost, ok, "ran it instead");
  expect(lost, broken, "failed to run it as well");
  is_first_of_loss = false;
  for (int other = 0; other < 5; ++other) expect(lost, ok, "ran it instead");
  EXPECT_EQ(log_.last().find("is not used"), std::string::npos) << "one loss counts once";
  is_first_of_loss = true;
  expect(lost, ok, "ran it instead; npu is not used for ");
  expect(broken, ok, "runs it from now on");
  SetLogLevel(LogLevel::kInfo);
}

}  // namespace
}  // namespace deputy::host
