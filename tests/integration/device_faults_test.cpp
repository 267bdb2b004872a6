// A device that is lost, late or full, in the process and in a worker process: each run gets its answer, once and in
// order, or the error that says why not.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/process_state.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

using std::chrono::milliseconds;

Tensor Numbers(float first) {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i % 7) / 8;
  return *Tensor::FromValues<float>(DType::kFloat32, {4, 16}, values);
}

class DeviceFaultsTest : public testing::TestWithParam<std::string> {
 protected:
  ~DeviceFaultsTest() override { SetLogSink(nullptr); }
  void Load(const std::string& model, const std::string& options) {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
    const Result<Context> context = Context::FromYamlText(
        "faults.yaml",
        "version: 1\nplugins: {paths: [" DEPUTY_TEST_PLUGINS
        "]}\ncache: {dir: \"off\"}\ndelegates:\n  - {name: npu, delegate: sim_npu, verify: never, isolation: " +
            GetParam() + ", options: {" + options + "}}\n");
    ASSERT_TRUE(context.ok()) << context.status().ToString();
    const Status status = model_.Build(std::string(DEPUTY_TEST_MODELS) + "/" + model + ".onnx", *context);
    ASSERT_TRUE(status.ok()) << status.ToString();
    session_ = *model_.CreateSession();
  }
  // Of around_the_cpu.
  static void ExpectAnswer(const std::vector<Tensor>& outputs, float first) {
    const Tensor x = Numbers(first);
    ASSERT_EQ(outputs.size(), 1u);
    for (size_t i = 0; i < 64; ++i) {
      const float a = std::max(x.values<float>()[i], 0.0F);
      ASSERT_NEAR(outputs[0].values<float>()[i], std::tanh(a) + std::erf(a), 1e-5) << i;
    }
  }
  void ExpectRun(float first) {
    std::vector<Tensor> outputs;
    const Status status = session_.Predict({Numbers(first)}, &outputs);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ExpectAnswer(outputs, first);
  }

  // Of adding_up, from buffer to buffer.
  void ExpectSum(const Buffer& last, const Buffer& next) {
    ASSERT_TRUE(session_.BindInput("last", last).ok());
    ASSERT_TRUE(session_.BindOutput("next", next).ok());
    std::vector<Tensor> outputs;
    const Status status = session_.Predict({Numbers(0.5F), Tensor()}, &outputs);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const Tensor x = Numbers(0.5F), from = *last.Read(), to = *next.Read();
    for (size_t i = 0; i < 64; ++i)
      ASSERT_NEAR(to.values<float>()[i], from.values<float>()[i] + std::tanh(x.values<float>()[i]), 1e-5);
  }

  Model model_;
  Session session_;
};

// What a worker process does not carry: submitted runs.
class DeviceFaultsInProcess : public DeviceFaultsTest {};

TEST_P(DeviceFaultsTest, ADeviceThatIsLostInAnyRunCostsNoAnswer) {
  for (int lost = 1; lost <= 6; ++lost) {
    SCOPED_TRACE(lost);
    Load("around_the_cpu", "faults: 'device_lost:" + std::to_string(lost) + "'");
    for (int run = 0; run < 5; ++run) ExpectRun(static_cast<float>(run) / 4);
    const HealthReport health = model_.Health();
    ASSERT_FALSE(health.incidents.empty());
    EXPECT_NE(health.incidents[0].failure.find("the device was lost"), std::string::npos)
        << health.incidents[0].failure;
  }
}

TEST_P(DeviceFaultsTest, ADeviceThatIsLostAgainAndAgainCostsNoAnswerInFlight) {
  constexpr int kRequests = 40, kInFlight = 8;
  std::string faults;
  for (int run = 3; run < 60; run += 7)
    faults += (faults.empty() ? "" : ",") + std::string("device_lost:") + std::to_string(run);
  Load("around_the_cpu", "faults: '" + faults + "'");
  ASSERT_TRUE(session_.SetInFlight(kInFlight).ok());
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < kRequests; ++i) {
    if (i >= kInFlight) results[static_cast<size_t>(i - kInFlight)].wait();
    Result<std::future<PredictResult>> result = session_.PredictAsync({Numbers(static_cast<float>(i) / 8)});
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    results.push_back(std::move(result).value());
  }
  for (int i = 0; i < kRequests; ++i) {
    const PredictResult result = results[static_cast<size_t>(i)].get();
    ASSERT_TRUE(result.status.ok()) << result.status.ToString();
    EXPECT_EQ(result.request, static_cast<uint64_t>(i + 1));
    ExpectAnswer(result.outputs, static_cast<float>(i) / 8);
  }
}

TEST_P(DeviceFaultsInProcess, AFullQueueIsTriedAgain) {
  Load("around_the_cpu", "faults: 'queue_full:1, queue_full:2, queue_full:4'");
  for (int run = 0; run < 3; ++run) ExpectRun(static_cast<float>(run));
  EXPECT_TRUE(model_.Health().incidents.empty());
}

TEST_P(DeviceFaultsTest, ALateEndIsNoAnswer) {
  Load("around_the_cpu", "faults: 'late:3'");
  ExpectRun(1);
  session_.SetTimeout(milliseconds(25));
  std::vector<Tensor> outputs;
  // A loaded machine may need longer than that for another run: then the late one is still to come.
  EXPECT_TRUE(Eventually([&] {
    const Status status = session_.Predict({Numbers(2)}, &outputs);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kDeadlineExceeded) << status.ToString();
    return !status.ok();
  }));
  session_.SetTimeout(milliseconds(0));
  for (int run = 0; run < 3; ++run) ExpectRun(static_cast<float>(run));
}

TEST_P(DeviceFaultsTest, ABoundInputThatIsLostIsAnErrorUntilItIsBoundAgain) {
  Load("adding_up", "faults: 'device_lost:2'");
  Buffer last = *session_.InputBuffer("last");
  ASSERT_TRUE(last.is_on_device());
  ASSERT_TRUE(last.Write(Numbers(1)).ok());
  ASSERT_TRUE(session_.BindInput("last", last).ok());
  const auto run = [&] {
    std::vector<Tensor> outputs;
    return session_.Predict({Numbers(0.5F), Tensor()}, &outputs);
  };
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(run().code(), StatusCode::kDeviceLost);
  EXPECT_EQ(run().code(), StatusCode::kDeviceLost) << "the device is there, its memory is not";
  Buffer next = *session_.InputBuffer("last");
  ASSERT_TRUE(next.Write(Numbers(1)).ok());
  ASSERT_TRUE(session_.BindInput("last", next).ok());
  EXPECT_TRUE(run().ok());
}

TEST_P(DeviceFaultsTest, ABoundOutputThatIsLostIsAnErrorUntilItIsBoundAgain) {
  Load("adding_up", "faults: 'device_lost:2'");
  const Buffer sum = *session_.OutputBuffer("next");
  ASSERT_TRUE(sum.is_on_device());
  ASSERT_TRUE(session_.BindOutput("next", sum).ok());
  const auto run = [&] {
    std::vector<Tensor> outputs;
    return session_.Predict({Numbers(0.5F), Numbers(1)}, &outputs);
  };
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(run().code(), StatusCode::kDeviceLost) << "though an alternative could compute it";
  EXPECT_EQ(run().code(), StatusCode::kDeviceLost) << "the device is there, its memory is not";
  EXPECT_EQ(sum.Read().status().code(), StatusCode::kDeviceLost);
  const Buffer next = *session_.OutputBuffer("next");
  ASSERT_TRUE(session_.BindOutput("next", next).ok());
  EXPECT_TRUE(run().ok());
  EXPECT_TRUE(next.Read().ok());
}

TEST_P(DeviceFaultsTest, SharedMemoryIsNotLostWithTheDevice) {
  Load("adding_up", "faults: 'device_lost:2'");
  Buffer from = *Buffer::MakeShared(DType::kFloat32, {4, 16}), to = *Buffer::MakeShared(DType::kFloat32, {4, 16});
  ASSERT_TRUE(from.Write(Numbers(1)).ok());
  for (int run = 0; run < 5; ++run) {
    ExpectSum(from, to);
    std::swap(from, to);
  }
  EXPECT_FALSE(model_.Health().incidents.empty());
}

class DeviceFaultsOfAWorker : public DeviceFaultsTest {
 protected:
  static void KillWorker() {
    const std::vector<pid_t> workers = ChildProcesses();
    ASSERT_EQ(workers.size(), 1u);
    ASSERT_EQ(kill(workers[0], SIGKILL), 0);
    EXPECT_TRUE(Eventually([&] { return ChildProcesses() != workers; }));
  }
  uint64_t Copies() const {
    uint64_t copies = 0;
    for (const RunEvent& event : session_.events()) copies += event.copies;
    return copies;
  }
};

TEST_P(DeviceFaultsOfAWorker, ItsEndCostsNoAnswerAndTheNextOneHasItsMemory) {
  Load("around_the_cpu", "");
  session_.EnableEvents(true);
  ExpectRun(1);
  EXPECT_EQ(Copies(), 0u);
  for (int round = 0; round < 2; ++round) {
    KillWorker();
    ExpectRun(2);
    ExpectRun(3);
    EXPECT_EQ(Copies(), 0u);
    const std::vector<RunEvent> events = session_.events();
    EXPECT_EQ(std::count_if(events.begin(), events.end(),
                            [](const RunEvent& event) { return event.is_step && event.delegate == "npu"; }),
              2);
  }
}

TEST_P(DeviceFaultsOfAWorker, ItsEndLeavesSharedBuffers) {
  Load("adding_up", "");
  session_.EnableEvents(true);
  Buffer from = *Buffer::MakeShared(DType::kFloat32, {4, 16}), to = *Buffer::MakeShared(DType::kFloat32, {4, 16});
  ASSERT_TRUE(from.Write(Numbers(1)).ok());
  for (int round = 0; round < 3; ++round) {
    for (int run = 0; run < 3; ++run) {
      ExpectSum(from, to);
      std::swap(from, to);
    }
    EXPECT_EQ(Copies() + session_.statistics().buffer_copies, 0u);
    KillWorker();
  }
}

TEST_P(DeviceFaultsOfAWorker, ItsEndIsThatOfBoundBuffers) {
  Load("adding_up", "");
  const auto run = [&] {
    std::vector<Tensor> outputs;
    return session_.Predict({Numbers(0.5F), Tensor()}, &outputs);
  };
  Buffer last = *session_.InputBuffer("last");
  ASSERT_TRUE(last.is_on_device());
  ASSERT_TRUE(last.Write(Numbers(1)).ok());
  ASSERT_TRUE(session_.BindInput("last", last).ok());
  EXPECT_TRUE(run().ok());
  KillWorker();
  EXPECT_EQ(run().code(), StatusCode::kDeviceLost);
  EXPECT_EQ(last.Read().status().code(), StatusCode::kDeviceLost);
  EXPECT_EQ(last.Write(Numbers(1)).code(), StatusCode::kDeviceLost);
  Buffer other = *session_.InputBuffer("last");
  ASSERT_TRUE(other.Write(Numbers(1)).ok());
  ASSERT_TRUE(session_.BindInput("last", other).ok());
  EXPECT_TRUE(run().ok());
  Buffer again = *session_.InputBuffer("last");
  EXPECT_TRUE(again.is_on_device()) << "of the next worker";
  ASSERT_TRUE(again.Write(Numbers(1)).ok());
  ASSERT_TRUE(session_.BindInput("last", again).ok());
  EXPECT_TRUE(run().ok());
}

// No context of the next worker exists yet, which would have another memory.
TEST_P(DeviceFaultsOfAWorker, ALostBufferThatIsBoundAfterwardsIsAnError) {
  Load("adding_up", "");
  Buffer last = *session_.InputBuffer("last");
  ASSERT_TRUE(last.Write(Numbers(1)).ok());
  std::vector<Tensor> outputs;
  EXPECT_TRUE(session_.Predict({Numbers(0.5F), Numbers(1)}, &outputs).ok());
  KillWorker();
  session_.SetTimeout(std::chrono::nanoseconds(1));
  EXPECT_EQ(session_.Predict({Numbers(0.5F), Numbers(1)}, &outputs).code(), StatusCode::kDeadlineExceeded);
  session_.SetTimeout(milliseconds(0));
  ASSERT_TRUE(session_.BindInput("last", last).ok());
  for (int run = 0; run < 2; ++run)
    EXPECT_EQ(session_.Predict({Numbers(0.5F), Tensor()}, &outputs).code(), StatusCode::kDeviceLost);
}

INSTANTIATE_TEST_SUITE_P(Isolation, DeviceFaultsOfAWorker, testing::Values("process"),
                         [](const auto& tested) { return tested.param; });
INSTANTIATE_TEST_SUITE_P(Isolation, DeviceFaultsInProcess, testing::Values("none"),
                         [](const auto& tested) { return tested.param; });
INSTANTIATE_TEST_SUITE_P(Isolation, DeviceFaultsTest, testing::Values("none", "process"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace deputy
