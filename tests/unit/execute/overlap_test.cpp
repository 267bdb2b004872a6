// Runs of plans whose steps overlap: what begins at once, and what a failure, a cancel or a lost device does there.
#include <atomic>
#include <cstring>
#include <thread>

#include "plan/make_plan.hpp"
#include "support/test_delegate.hpp"
#include "support/waiting.hpp"
#include "unit/execute/cpu_fallback.hpp"
#include "unit/execute/cpu_plan.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kElements = 1 << 17;  // enough to overlap

// Copies its input to its output.
Status CopyThrough(const RunArgs& args) {
  std::memcpy(args.outputs[0]->data, args.inputs[0]->data, args.inputs[0]->byte_size);
  return {};
}

// x -> Relu on `left`, Sigmoid on `right` -> Add on the CPU; both delegates compute the identity.
class OverlapTest : public testing::Test {
 protected:
  Status Prepare(StepFallback* fallback = nullptr, RunHandling handling = {}) {
    TestGraph graph(ValueType{DType::kFloat32, true, {kElements}});
    graph.Input("x").Node("a", "Relu", {"x"}).Node("b", "Sigmoid", {"x"}).Node("y", "Add", {"a", "b"}).Output("y");
    std::vector<HostedDelegate> delegates;
    for (const auto& delegate : {left_, right_}) {
      delegate->overlap = true;
      delegate->execute = CopyThrough;
      HostedDelegate hosted(delegate);
      if (fallback != nullptr) hosted.health = std::make_shared<DelegateHealth>(handling);
      delegates.push_back(std::move(hosted));
    }
    delegates.emplace_back(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
    x_ = graph.Value("x");
    y_ = graph.Value("y");
    DEPUTY_ASSIGN_OR_RETURN(plan_, MakePlan(std::make_shared<Graph>(std::move(graph.graph)), delegates, {}));
    DEPUTY_ASSIGN_OR_RETURN(execution_, Execution::Create(plan_, fallback));
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = static_cast<float>(i % 100) - 50;
    execution_->Bind(x_, in_.data());
    execution_->Bind(y_, out_.data());
    return {};
  }
  void ExpectTwice() const {
    for (size_t i = 0; i < in_.size(); ++i) ASSERT_EQ(out_[i], 2 * in_[i]) << i;
  }

  std::shared_ptr<TestDelegate> left_ = std::make_shared<TestDelegate>("left", std::set<std::string>{"Relu"});
  std::shared_ptr<TestDelegate> right_ = std::make_shared<TestDelegate>("right", std::set<std::string>{"Sigmoid"});
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Execution> execution_;
  ValueId x_ = kNone, y_ = kNone;
  std::vector<float> in_ = std::vector<float>(kElements), out_ = std::vector<float>(kElements);
};

TEST_F(OverlapTest, StepsOfTwoDelegatesRunAtOnce) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(plan_->overlaps);
  for (int run = 0; run < 3; ++run) {
    std::atomic<bool> left{false}, right{false};
    left_->execute = [&](const RunArgs& args) {
      left = true;
      EXPECT_TRUE(Eventually([&] { return right.load(); }));
      return CopyThrough(args);
    };
    right_->execute = [&](const RunArgs& args) {
      right = true;
      EXPECT_TRUE(Eventually([&] { return left.load(); }));
      return CopyThrough(args);
    };
    std::fill(out_.begin(), out_.end(), 0.0F);
    const Status status = execution_->Run();
    ASSERT_TRUE(status.ok()) << status.ToString();
    ExpectTwice();
  }
}

TEST_F(OverlapTest, TheTimesOfItsStepsOverlapToo) {
  ASSERT_TRUE(Prepare().ok());
  std::atomic<bool> right{false};
  left_->execute = [&](const RunArgs& args) {
    EXPECT_TRUE(Eventually([&] { return right.load(); }));
    return CopyThrough(args);
  };
  right_->execute = [&](const RunArgs& args) {
    right = true;
    return CopyThrough(args);
  };
  std::vector<StepSpan> spans(plan_->steps.size());
  ASSERT_TRUE(execution_->Run({}, spans).ok());
  EXPECT_LT(spans[1].begin_ns, spans[0].end_ns);
  EXPECT_GE(spans[2].begin_ns, spans[0].end_ns);
  EXPECT_GE(spans[2].begin_ns, spans[1].end_ns);
}

TEST_F(OverlapTest, AFailureEndsTheRunWhenTheOtherStepHasEnded) {
  ASSERT_TRUE(Prepare().ok());
  std::atomic<bool> begun{false}, failed{false}, ended{false};
  left_->execute = [&](const RunArgs&) {
    EXPECT_TRUE(Eventually([&] { return begun.load(); }));
    failed = true;
    return Status(StatusCode::kInternal, "no");
  };
  right_->execute = [&](const RunArgs& args) {
    begun = true;
    EXPECT_TRUE(Eventually([&] { return failed.load(); }));
    ended = true;
    return CopyThrough(args);
  };
  const Status status = execution_->Run();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.ToString().find("'a'"), std::string::npos) << status.ToString();
  EXPECT_TRUE(ended);
  left_->execute = right_->execute = CopyThrough;
  ASSERT_TRUE(execution_->Run().ok());
  ExpectTwice();
}

TEST_F(OverlapTest, ACancelReachesAllThatRun) {
  ASSERT_TRUE(Prepare().ok());
  std::atomic<uint64_t> cancelled_ns{0};
  CancelHook hook;
  std::atomic<int> waiting{0}, called{0};
  // As a delegate whose device waits in its driver.
  const auto until_cancelled = [&](const RunArgs& args) {
    struct Wait {
      std::atomic<bool> ends{false};
      std::atomic<int>* called;
    } wait{{}, &called};
    const auto end = [](void* self) {
      ++*static_cast<Wait*>(self)->called;
      static_cast<Wait*>(self)->ends = true;
    };
    EXPECT_TRUE(args.cancellation->hook->Set(end, &wait));
    ++waiting;
    EXPECT_TRUE(Eventually([&] { return wait.ends.load(); }));
    args.cancellation->hook->Clear();
    return args.cancellation->Check();
  };
  left_->execute = right_->execute = until_cancelled;
  std::thread canceller([&] {
    EXPECT_TRUE(Eventually([&] { return waiting == 2; }));
    cancelled_ns = NowNs();
    hook.Call();
  });
  EXPECT_EQ(execution_->Run({0, &cancelled_ns, &hook}).code(), StatusCode::kCancelled);
  canceller.join();
  EXPECT_EQ(called, 2);
}

TEST_F(OverlapTest, AnAlternativeAnswersAFailureOnTheThreadOfTheRun) {
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback).ok());
  ASSERT_TRUE(plan_->overlaps);
  left_->execute = [](const RunArgs& args) {
    std::memset(args.outputs[0]->data, 7, args.outputs[0]->byte_size);
    return Status(StatusCode::kDeviceLost, "gone");
  };
  const Status status = execution_->Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(fallback.asked_from, std::this_thread::get_id());
  EXPECT_EQ(fallback.reason.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(fallback.reports, 1);
  for (size_t i = 0; i < in_.size(); ++i) ASSERT_EQ(out_[i], std::max(in_[i], 0.0F) + in_[i]) << i;
}

TEST_F(OverlapTest, ResultsAreVerifiedOnTheThreadOfTheRun) {
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback, {.every = 2}).ok());
  for (int run = 0; run < 4; ++run) {
    ASSERT_TRUE(execution_->Run().ok());
    ExpectTwice();
  }
  EXPECT_EQ(fallback.verifications, 4);  // the first and the third run of two steps
  EXPECT_EQ(fallback.verified_from, std::this_thread::get_id());
}

}  // namespace
}  // namespace deputy::host
