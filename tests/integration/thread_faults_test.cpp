// Sessions on many threads whose delegates run in this process or in workers, while workers are killed.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/worker_killer.hpp"

namespace deputy {
namespace {

constexpr size_t kThreads = 8, kSessions = 4, kRuns = 30;

// small.onnx: x, y float32 [64,65] -> z, broadcast.
std::vector<Tensor> Inputs(size_t seed) {
  std::vector<Tensor> inputs;
  for (size_t input = 0; input < 2; ++input) {
    inputs.push_back(*Tensor::Allocate(DType::kFloat32, {64, 65}));
    size_t index = seed + input;
    for (float& value : inputs.back().mutable_values<float>())
      value = static_cast<float>(static_cast<int64_t>(index++ * 7919 % 1000) - 500) / 250;
  }
  return inputs;
}

class ThreadFaults : public testing::TestWithParam<const char*> {
 protected:
  static Model Built(const std::string& delegates, const std::string& more = "") {
    Result<Context> context = Context::FromYamlText("t.yaml", "version: 1\nplugins: {paths: [" DEPUTY_TEST_FIXTURES
                                                              "]}\ncache: {dir: 'off'}\ndelegates: [" +
                                                                  delegates + "]\nlog: {level: error}\n" + more);
    EXPECT_TRUE(context.ok()) << context.status().ToString();
    Model model;
    const Status status = model.Build(DEPUTY_TEST_MODELS "/small.onnx", *context);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return model;
  }
  // On two delegates that compute exactly what the CPU computes.
  static Model BuiltOnBoth(const std::string& mode) {
    return Built("{name: good, isolation: " + mode + "}, {name: misbehaves, isolation: " + mode + "}",
                 "placement: {rules: [{nodes: positive, to: misbehaves}]}\n");
  }
  static std::vector<std::vector<float>> Answers(Session& session, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> outputs;
    const Status status = session.Predict(inputs, &outputs);
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::vector<std::vector<float>> answers;
    for (const Tensor& output : outputs) answers.push_back(Values(output));
    return answers;
  }
  // Per thread, for its inputs.
  static std::vector<std::vector<std::vector<float>>> AnswersOfTheCpu() {
    const Model alone = Built("");
    Session session = *alone.CreateSession();
    std::vector<std::vector<std::vector<float>>> answers;
    for (size_t seed = 0; seed < kThreads; ++seed) answers.push_back(Answers(session, Inputs(seed)));
    return answers;
  }
};

TEST_P(ThreadFaults, EightThreadsOfFourSessionsEach) {
  const LogLines log(LogLevel::kOff);
  const std::string mode = GetParam();
  const std::vector<std::vector<std::vector<float>>> wanted = AnswersOfTheCpu();
  const Model model = BuiltOnBoth(mode);
  std::atomic<size_t> wrong{0};
  {
    const WorkerKiller killer(std::chrono::milliseconds(20));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        std::vector<Session> sessions;
        for (size_t s = 0; s < kSessions; ++s) {
          Result<Session> session = model.CreateSession();
          ASSERT_TRUE(session.ok()) << session.status().ToString();
          sessions.push_back(*std::move(session));
        }
        for (size_t run = 0; run < kRuns; ++run)
          for (Session& session : sessions)
            if (Answers(session, Inputs(t)) != wanted[t]) ++wrong;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(killer.killed() != 0, mode == "process");
  }
  EXPECT_EQ(wrong, 0u);
}

// Eight in each of eight sessions: every request has one result, in order, and the right one.
TEST_P(ThreadFaults, SixtyFourRequestsInFlight) {
  constexpr size_t kInFlight = 8, kRequests = 60;
  const LogLines log(LogLevel::kOff);
  const std::string mode = GetParam();
  const std::vector<std::vector<std::vector<float>>> wanted = AnswersOfTheCpu();
  const Model model = BuiltOnBoth(mode);
  std::atomic<size_t> wrong{0}, right{0};
  {
    const WorkerKiller killer(std::chrono::milliseconds(20));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        Result<Session> session = model.CreateSession();
        ASSERT_TRUE(session.ok()) << session.status().ToString();
        ASSERT_TRUE(session->SetInFlight(kInFlight).ok());
        std::deque<std::future<PredictResult>> results;
        size_t number = 0;
        const auto take = [&] {
          const PredictResult result = results.front().get();
          results.pop_front();
          std::vector<std::vector<float>> answers;
          for (const Tensor& output : result.outputs) answers.push_back(Values(output));
          ++(result.status.ok() && result.request == ++number && answers == wanted[t] ? right : wrong);
        };
        for (size_t request = 0; request < kRequests; ++request) {
          if (results.size() == kInFlight) take();
          // The result of a request comes after its place in flight is free.
          Result<std::future<PredictResult>> result = session->PredictAsync(Inputs(t));
          ASSERT_TRUE(result.ok()) << result.status().ToString();
          results.push_back(std::move(result).value());
        }
        while (!results.empty()) take();
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(killer.killed() != 0, mode == "process");
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(right, kThreads * kRequests);
}

INSTANTIATE_TEST_SUITE_P(Modes, ThreadFaults, testing::Values("none", "process"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace
}  // namespace deputy
