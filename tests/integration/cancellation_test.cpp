// Runs that end before they are done: by a deadline or by Cancel, in a step of the CPU, in a delegate that heeds it,
// and in one that does not.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "deputy/deputy.hpp"
#include "support/relu_delegate.hpp"
#include "support/test_clock.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

using std::chrono::milliseconds;

class CancellationTest : public testing::Test {
 protected:
  CancellationTest() {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  }
  ~CancellationTest() override { SetLogSink(nullptr); }

  Session Open(const std::string& model, const Context& context) {
    const Status status = model_.Build(DEPUTY_TEST_MODELS "/" + model, context);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return std::move(*model_.CreateSession());
  }
  Session OpenRelu(std::function<sdk::Status(const sdk::RunArgs&)> act) {
    const auto hooks = std::make_shared<ReluHooks>();
    hooks->on_execute = std::move(act);
    Context context;
    context.SetDelegate(std::make_shared<ReluDelegate>(hooks));
    return Open("relu.onnx", context);
  }
  static std::vector<Tensor> ReluInputs() { return {*Tensor::Allocate(DType::kFloat32, {2, 3})}; }

  Model model_;
};

// Seed row 54.
TEST_F(CancellationTest, ARunThatEndsAfterItsDeadlineIsNoSuccess) {
  TestClock clock;
  Session session = OpenRelu([&](const sdk::RunArgs&) {
    clock.Turn(milliseconds(25));
    return sdk::Status();
  });
  session.SetTimeout(milliseconds(5));
  std::vector<Tensor> outputs;
  const Status status = session.Predict(ReluInputs(), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  EXPECT_NE(status.message().find("delegate 'in_process' did not stop: deadline exceeded by"), std::string::npos)
      << status.ToString();
  EXPECT_NE(status.where().find("the relu"), std::string::npos) << status.ToString();
  session.SetTimeout(milliseconds(0));
  EXPECT_TRUE(session.Predict(ReluInputs(), &outputs).ok());
}

TEST_F(CancellationTest, ADelegateThatHeedsItsDeadlineEndsTheRunInItsOwnWords) {
  TestClock clock;
  Session session = OpenRelu([&](const sdk::RunArgs& args) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    EXPECT_EQ(std::chrono::nanoseconds(args.deadline_ns()), now + milliseconds(5));
    clock.Turn(milliseconds(6));
    return sdk::Status(sdk::Code::kDeadlineExceeded, "gave up in time");
  });
  session.SetTimeout(milliseconds(5));
  std::vector<Tensor> outputs;
  const Status status = session.Predict(ReluInputs(), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  EXPECT_EQ(status.message(), "gave up in time");
}

TEST_F(CancellationTest, ACancelThatADelegateDoesNotSeeIsStillTheResult) {
  TestClock clock;
  bool cancels = true;
  Session session = OpenRelu([&](const sdk::RunArgs&) {
    if (cancels) std::thread([&] { session.Cancel(); }).join();
    clock.Turn(milliseconds(20));
    return sdk::Status();
  });
  std::vector<Tensor> outputs;
  const Status status = session.Predict(ReluInputs(), &outputs);
  cancels = false;
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
  EXPECT_NE(status.message().find("the run was cancelled; delegate 'in_process' did not stop"), std::string::npos)
      << status.ToString();
  EXPECT_TRUE(session.Predict(ReluInputs(), &outputs).ok());
}

TEST_F(CancellationTest, ACancelBeforeARunDoesNotTouchIt) {
  Session session = OpenRelu([](const sdk::RunArgs&) { return sdk::Status(); });
  session.Cancel();
  std::vector<Tensor> outputs;
  const Status status = session.Predict(ReluInputs(), &outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// The time counts from the call, so it has passed before the first step.
TEST_F(CancellationTest, NothingRunsAfterTheDeadline) {
  bool ran = false;
  Session session = OpenRelu([&](const sdk::RunArgs&) {
    ran = true;
    return sdk::Status();
  });
  session.SetTimeout(std::chrono::nanoseconds(1));
  std::vector<Tensor> outputs;
  EXPECT_EQ(session.Predict(ReluInputs(), &outputs).code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(ran);
}

class CpuStepTest : public CancellationTest, public testing::WithParamInterface<int> {
 protected:
  Session OpenLongPool() {
    return Open("long_pool.onnx",
                *Context::FromYamlText("stopping", "version: 1\ncpu: {threads: " + std::to_string(GetParam()) + "}\n"));
  }
  static std::vector<Tensor> Inputs() { return {*Tensor::Allocate(DType::kFloat32, {1, 1, 1024, 1024})}; }
};

TEST_P(CpuStepTest, ADeadlineEndsItInTheMiddle) {
  Session session = OpenLongPool();
  session.SetTimeout(milliseconds(20));
  std::vector<Tensor> outputs;
  const Status status = session.Predict(Inputs(), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  EXPECT_EQ(status.message(), "the run did not end in time");
  EXPECT_NE(status.where().find("the pool"), std::string::npos) << status.ToString();
}

TEST_P(CpuStepTest, ACancelEndsItInTheMiddle) {
  Session session = OpenLongPool();
  const Canceller canceller([&] { session.Cancel(); });
  std::vector<Tensor> outputs;
  const Status status = session.Predict(Inputs(), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
}

INSTANTIATE_TEST_SUITE_P(Threads, CpuStepTest, testing::Values(1, 2));

}  // namespace
}  // namespace deputy
