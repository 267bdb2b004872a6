// Delegates that fail at run time: what answers instead, and what the reports, later sessions and other shapes know.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/relu_delegate.hpp"
#include "support/test_clock.hpp"

namespace deputy {
namespace {

sdk::Status Refusal(const char* text) { return sdk::Status(sdk::Code::kInternal, text); }
sdk::Status LostDevice() { return sdk::Status(sdk::Code::kDeviceLost, "the device went away"); }

// The digits network, whose two Relus are partitions of the failing delegate.
class FallbackTest : public testing::Test {
 protected:
  FallbackTest() {
    Context cpu;
    Model model;
    EXPECT_TRUE(model.Build(DEPUTY_TEST_DIGITS, cpu).ok());
    for (const int64_t count : {1, 3}) expected_[count] = Answer(*model.CreateSession(), count);
  }

  void Build() {
    context_.AddDelegate(std::make_shared<ResizingReluDelegate>(faults_));
    const Status status = model_.Build(DEPUTY_TEST_DIGITS, context_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  Session Open() { return std::move(*model_.CreateSession()); }
  static std::vector<float> Answer(Session&& session, int64_t count) { return Answer(session, count); }
  static std::vector<float> Answer(Session& session, int64_t count) { return deputy::Answer(session, Pictures(count)); }
  size_t Warnings(std::string_view part) const { return warnings_.Count(part); }
  std::string LastWarning() const { return warnings_.last(); }

  const LogLines warnings_{LogLevel::kWarning};
  std::map<int64_t, std::vector<float>> expected_;
  const std::shared_ptr<ReluHooks> faults_ = std::make_shared<ReluHooks>();
  Context context_;
  Model model_;
};

TEST_F(FallbackTest, ARunThatFailsIsAnsweredByTheCpu) {
  faults_->on_run = [](int) { return Refusal("no more"); };
  Build();
  Session session = Open();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(faults_->runs, 2);
  EXPECT_EQ(Warnings("failed to run partition"), 2u);
  EXPECT_NE(LastWarning().find("in_process failed to run partition in_process/1 (1 node): "), std::string::npos)
      << LastWarning();
  EXPECT_NE(LastWarning().find("no more"), std::string::npos);
  EXPECT_NE(LastWarning().find("; cpu runs it from now on"), std::string::npos) << LastWarning();
}

TEST_F(FallbackTest, TheReportSaysWhatRunsInsteadAndWhy) {
  faults_->on_run = [](int run) { return run == 1 ? Refusal("no more") : sdk::Status(); };
  Build();
  Session session = Open();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  const Result<PlacementReport> report = session.Placement();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->delegates[0].nodes, 1u);
  size_t replaced = 0;
  for (const PartitionReport& partition : report->partitions) {
    if (partition.replaces.empty()) continue;
    ++replaced;
    EXPECT_EQ(partition.replaces, "in_process/0");
    EXPECT_EQ(partition.name, "in_process/0>cpu/0");
    EXPECT_EQ(partition.delegate, "cpu");
    ASSERT_EQ(partition.nodes.size(), 1u);
    for (const NodeReport& node : report->nodes) {
      if (node.name != partition.nodes[0]) continue;
      EXPECT_EQ(node.delegate, "cpu");
      EXPECT_EQ(node.refusals[0].delegate, "in_process");
      EXPECT_EQ(node.refusals[0].reason, "failed at run time");
      EXPECT_NE(node.refusals[0].detail.find("no more"), std::string::npos);
    }
  }
  EXPECT_EQ(replaced, 1u);
}

TEST_F(FallbackTest, EventsAndTimesAreThoseOfTheDelegateThatRan) {
  faults_->on_run = [](int) { return Refusal("no more"); };
  Build();
  Session session = Open();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  session.EnableProfiling(true);
  session.EnableEvents(true);
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  for (const auto& [delegate, ns] : session.statistics().delegate_ns)
    EXPECT_EQ(ns != 0, delegate == "cpu") << delegate << " " << ns;
  ASSERT_FALSE(session.events().empty());
  for (const RunEvent& event : session.events()) EXPECT_EQ(event.delegate, "cpu") << event.name;
}

TEST_F(FallbackTest, HealthCountsWhatFailed) {
  EXPECT_TRUE(context_.Health().delegates.empty());
  faults_->on_run = [](int run) { return run == 1 ? Refusal("no more") : sdk::Status(); };
  Build();
  EXPECT_FALSE(context_.Health().degraded);
  {
    Session session = Open();
    EXPECT_EQ(Answer(session, 1), expected_[1]);
    const HealthReport health = context_.Health();
    EXPECT_TRUE(health.degraded);
    ASSERT_EQ(health.delegates.size(), 1u);
    EXPECT_EQ(health.delegates[0].name, "in_process");
    EXPECT_EQ(health.delegates[0].failures, 1u);
    EXPECT_EQ(health.delegates[0].demoted_partitions, 1u);
    EXPECT_TRUE(health.delegates[0].available);
    ASSERT_EQ(health.incidents.size(), 1u);
    EXPECT_EQ(health.incidents[0].partition, "in_process/0");
    EXPECT_EQ(health.incidents[0].taken_over, "cpu");
    EXPECT_NE(health.incidents[0].failure.find("no more"), std::string::npos);
  }
  model_ = Model();
  EXPECT_FALSE(context_.Health().degraded) << "the model is gone";
  EXPECT_EQ(context_.Health().delegates[0].failures, 1u);
}

TEST_F(FallbackTest, TheThousandthRunMayFail) {
  faults_->on_run = [](int run) { return run == 1000 ? Refusal("worn out") : sdk::Status(); };
  Build();
  Session session = Open();
  for (int run = 0; run < 600; ++run) ASSERT_EQ(Answer(session, 1), expected_[1]) << run;
  // Two partitions ran 500 times; the second failed, and the first went on.
  EXPECT_EQ(faults_->runs, 1100);
  EXPECT_EQ(Warnings("failed to run partition"), 1u);
}

TEST_F(FallbackTest, TheNextSessionDoesNotTryInVain) {
  faults_->on_run = [](int) { return Refusal("no more"); };
  Build();
  EXPECT_EQ(Answer(Open(), 1), expected_[1]);
  const int before = faults_->runs;
  EXPECT_EQ(Answer(Open(), 1), expected_[1]);
  EXPECT_EQ(faults_->runs, before);
}

TEST_F(FallbackTest, AtOtherShapesTheNodesAreNotOfferedAgain) {
  faults_->on_run = [](int) { return Refusal("no more"); };
  Build();
  Session session = Open();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  const int compiles = faults_->compiles, runs = faults_->runs;
  EXPECT_EQ(Answer(session, 3), expected_[3]);
  EXPECT_EQ(faults_->compiles, compiles);
  EXPECT_EQ(faults_->runs, runs);
  const Result<PlacementReport> report = session.Placement();
  EXPECT_EQ(report->delegates[0].nodes, 0u);
  bool named = false;
  for (const NodeReport& node : report->nodes)
    named = named || (!node.refusals.empty() && node.refusals[0].reason == "failed at run time");
  EXPECT_TRUE(named);
}

TEST_F(FallbackTest, AtOtherShapesTheNodesOfABranchAreNotOfferedAgain) {
  faults_->on_run = [](int) { return Refusal("no more"); };
  context_.AddDelegate(std::make_shared<ReluDelegate>(faults_));
  ASSERT_TRUE(model_.Build(DEPUTY_TEST_MODELS "/branches.onnx", context_).ok());
  Session session = Open();
  Tensor condition = *Tensor::Allocate(DType::kBool, {});
  condition.mutable_values<bool>()[0] = true;
  for (const int64_t rows : {1, 2}) {
    const Tensor ones = *Tensor::FromValues<float>(DType::kFloat32, {rows, 3}, std::vector<float>(3 * rows, 1));
    std::vector<Tensor> outputs;
    ASSERT_TRUE(session.Predict({condition, ones, ones}, &outputs).ok());
    EXPECT_EQ(Values(outputs[0]), std::vector<float>(3 * rows, 2));
  }
  EXPECT_EQ(faults_->runs, 1);
}

TEST_F(FallbackTest, AContextThatCannotBeMadeIsAnswered) {
  faults_->on_context = [](int) { return Refusal("no context"); };
  Build();
  Session session = Open();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(faults_->runs, 0);
  EXPECT_NE(LastWarning().find("no context"), std::string::npos) << LastWarning();
}

// The plan was resized on a context of its own; that of the session fails.
TEST_F(FallbackTest, AResizeThatFailsIsAnswered) {
  faults_->on_resize = [this] { return faults_->resizes > 2 ? Refusal("cannot resize") : sdk::Status(); };
  Build();
  Session session = Open();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(Answer(session, 3), expected_[3]);
  EXPECT_NE(LastWarning().find("cannot resize"), std::string::npos) << LastWarning();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
}

TEST_F(FallbackTest, ADelegateThatGivesUpForTimeIsAnsweredAndTheSessionsDeadlineIsNot) {
  faults_->on_run = [](int) { return sdk::Status(sdk::Code::kDeadlineExceeded, "the device takes too long"); };
  Build();
  EXPECT_EQ(Answer(Open(), 1), expected_[1]);

  Session session = Open();
  session.SetTimeout(std::chrono::nanoseconds(1));
  std::vector<Tensor> outputs;
  EXPECT_EQ(session.Predict({Pictures(1)}, &outputs).code(), StatusCode::kDeadlineExceeded);
}

TEST_F(FallbackTest, ALostDeviceIsTriedAgain) {
  faults_->on_run = [](int run) { return run == 1 ? LostDevice() : sdk::Status(); };
  Build();
  Session session = Open();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(faults_->runs, 2);
  EXPECT_EQ(context_.Health().delegates[0].demoted_partitions, 0u);
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(faults_->runs, 4) << "both partitions are with the delegate again";
  EXPECT_FALSE(context_.Health().degraded);
}

// One failure per session, not one per run.
TEST_F(FallbackTest, AContextWhoseDeviceWasLostIsMadeLater) {
  faults_->on_context = [](int context) { return context == 1 ? LostDevice() : sdk::Status(); };
  Build();
  Session session = Open();
  for (int run = 0; run < 5; ++run) EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(context_.Health().delegates[0].failures, 1u);
  EXPECT_FALSE(context_.Health().degraded);
  EXPECT_EQ(faults_->runs, 9) << "all but the first run of the first partition";
}

TEST_F(FallbackTest, AContextThatIsMadeAgainIsProfiledAsBefore) {
  faults_->on_context = [](int context) { return context == 1 ? LostDevice() : sdk::Status(); };
  Build();
  Session session = Open();
  session.EnableEvents(true);
  for (const int expected : {1, 2}) {
    EXPECT_EQ(Answer(session, 1), expected_[1]);
    EXPECT_EQ(std::count_if(session.events().begin(), session.events().end(),
                            [](const RunEvent& event) { return event.name == "relu"; }),
              expected);
  }
}

TEST_F(FallbackTest, ADeviceThatStaysLostIsLeftAloneUntilATrialSucceeds) {
  TestClock clock;
  bool lost = true;
  faults_->on_run = [&](int) { return lost ? LostDevice() : sdk::Status(); };
  Build();
  Session session = Open();
  for (int run = 0; run < 3; ++run) EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(faults_->runs, 3) << "the third failure opened the breaker";
  HealthReport health = context_.Health();
  EXPECT_TRUE(health.degraded);
  EXPECT_FALSE(health.delegates[0].available);
  EXPECT_EQ(health.delegates[0].retry_in, std::chrono::milliseconds(100));
  EXPECT_EQ(Warnings("is not used for"), 1u);

  lost = false;
  clock.Turn(std::chrono::milliseconds(100));
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(faults_->runs, 5);
  health = context_.Health();
  EXPECT_TRUE(health.delegates[0].available);
  EXPECT_FALSE(health.degraded);
}

TEST_F(FallbackTest, TheDelegateBehindTakesOver) {
  const auto second = std::make_shared<ReluHooks>();
  faults_->on_run = [](int) { return Refusal("no more"); };
  context_.AddDelegate(std::make_shared<ResizingReluDelegate>(faults_));
  context_.AddDelegate(std::make_shared<ResizingReluDelegate>(second));
  ASSERT_TRUE(model_.Build(DEPUTY_TEST_DIGITS, context_).ok());
  Session session = Open();
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_EQ(second->runs, 2);
  EXPECT_NE(LastWarning().find("; in_process_2 runs it from now on"), std::string::npos) << LastWarning();
  // And when that fails as well, the CPU does.
  second->on_run = [](int) { return Refusal("me neither"); };
  EXPECT_EQ(Answer(session, 1), expected_[1]);
  EXPECT_NE(LastWarning().find("in_process_2 failed to run partition"), std::string::npos) << LastWarning();
}

TEST_F(FallbackTest, SessionsOfManyThreadsAnswerAllTheSame) {
  faults_->on_run = [](int run) {
    return run % 7 == 0 ? LostDevice() : run == 50 ? Refusal("no more") : sdk::Status();
  };
  Build();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Session session = Open();
      for (int run = 0; run < 50; ++run)
        if (Answer(session, run % 5 == 4 ? 3 : 1) != expected_[run % 5 == 4 ? 3 : 1]) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(FallbackTest, AFailureOfARequiredDelegateEndsTheRun) {
  faults_->on_run = [](int) { return Refusal("no more"); };
  context_ =
      *Context::FromYamlText("t.yaml", "version: 1\ndelegates: [{name: npu, delegate: in_process, required: true}]\n");
  Build();
  std::vector<Tensor> outputs;
  EXPECT_FALSE(Open().Predict({Pictures(1)}, &outputs).ok());
}

// Nothing but this setting differs from the first test.
TEST_F(FallbackTest, InCheckModeAFailureEndsTheRun) {
  faults_->on_run = [](int) { return Refusal("no more"); };
  Result<Context> context = Context::FromYamlText("t.yaml", "version: 1\ndebug: {check: true}\n");
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  context_ = *context;
  Build();
  std::vector<Tensor> outputs;
  const Status status = Open().Predict({Pictures(1)}, &outputs);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.ToString().find("no more"), std::string::npos) << status.ToString();
}

}  // namespace
}  // namespace deputy
