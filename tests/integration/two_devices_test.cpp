// A model on two devices of sim_npu in real time: partitions that overlap, requests in flight, and the same results as
// one after another.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

using std::chrono::milliseconds;

std::string Yaml(const std::string& isolation) {
  std::string text = "version: 1\nplugins: {paths: [" DEPUTY_TEST_PLUGINS
                     "]}\ncache: {dir: \"off\"}\nlog: {level: error}\ndelegates:\n";
  for (const char* number : {"0", "1"})
    text += std::string("  - {name: npu") + number + ", delegate: sim_npu, device: sim-" + number +
            ", isolation: " + isolation + ", options: {realtime: true, frequency: low}}\n";
  return text + "placement: {rules: [{ops: [Tanh], to: npu0}, {ops: [Sigmoid], to: npu1}]}\n";
}

std::vector<Tensor> Inputs(int number) {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int>(i) * 7 + number) % 11) / 4;
  return {*Tensor::FromValues<float>(DType::kFloat32, {4, 16}, values)};
}

std::vector<float> Values(const std::vector<Tensor>& outputs) {
  const auto values = outputs.at(0).values<float>();
  return {values.begin(), values.end()};
}

class TwoDevicesTest : public testing::TestWithParam<std::string> {
 protected:
  void Open(const std::string& model) {
    const Result<Context> context = Context::FromYamlText("two.yaml", Yaml(GetParam()));
    ASSERT_TRUE(context.ok()) << context.status().ToString();
    const Status status = model_.Build(DEPUTY_TEST_MODELS "/" + model + ".onnx", *context);
    ASSERT_TRUE(status.ok()) << status.ToString();
    Result<Session> session = model_.CreateSession();
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    session_ = std::move(session).value();
  }
  std::vector<float> Predict(int number) {
    std::vector<Tensor> outputs;
    const Status status = session_.Predict(Inputs(number), &outputs);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return status.ok() ? Values(outputs) : std::vector<float>();
  }

  Model model_;
  Session session_;
};

TEST_P(TwoDevicesTest, BranchesOfOneRunOverlap) {
  Open("two_branches");
  // Each branch, and the node that reads both.
  const Result<PlacementReport> placement = model_.Placement();
  ASSERT_TRUE(placement.ok()) << placement.status().ToString();
  ASSERT_EQ(placement->partitions.size(), 3u);
  for (const PartitionReport& partition : placement->partitions)
    EXPECT_EQ(partition.overlaps, partition.nodes.size() == 200) << partition.name;
  const std::vector<float> first = Predict(1);
  session_.EnableProfiling(true);
  // Each partition takes a millisecond of its device.
  EXPECT_TRUE(Eventually([&] {
    EXPECT_EQ(Predict(1), first);
    uint64_t sum = 0;
    for (const auto& [name, ns] : session_.statistics().delegate_ns) sum += ns;
    return sum > session_.statistics().total_ns;
  })) << "the steps of no run overlapped";
}

TEST_P(TwoDevicesTest, ResultsOfRequestsInFlightAreThoseOfOneAfterAnother) {
  for (const char* model : {"two_stages", "two_branches"}) {
    Open(model);
    std::vector<std::vector<float>> expected;
    for (int number = 0; number < 24; ++number) expected.push_back(Predict(number));
    ASSERT_TRUE(session_.SetInFlight(4).ok());
    std::vector<std::future<PredictResult>> results;
    for (int number = 0; number < 24; ++number) {
      EXPECT_TRUE(Eventually([&] {
        Result<std::future<PredictResult>> result = session_.PredictAsync(Inputs(number));
        if (result.ok()) results.push_back(std::move(result).value());
        return result.ok() || result.status().code() != StatusCode::kUnavailable;
      }));
    }
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      const PredictResult result = results[i].get();
      ASSERT_TRUE(result.status.ok()) << result.status.ToString();
      EXPECT_EQ(result.request, i + 1);
      EXPECT_EQ(Values(result.outputs), expected[i]) << model << ' ' << i;
    }
  }
}

TEST_P(TwoDevicesTest, RequestsAreInBothDevicesAtOnce) {
  Open("two_stages");
  Predict(1);
  ASSERT_TRUE(session_.SetInFlight(2).ok());
  // One after another they would take at least four times 200 layers of 1,500 cycles at 300 MHz.
  constexpr uint64_t kInTurnNs = 4 * 1'000'000;
  EXPECT_TRUE(Eventually([&] {
    std::vector<std::future<PredictResult>> results;
    for (int i = 0; i < 2; ++i) results.push_back(*session_.PredictAsync(Inputs(i)));
    std::vector<PredictResult> ended;
    for (std::future<PredictResult>& result : results) ended.push_back(result.get());
    for (const PredictResult& result : ended) EXPECT_TRUE(result.status.ok()) << result.status.ToString();
    return ended[1].ended_ns - ended[0].begun_ns < kInTurnNs;
  }));
}

TEST_P(TwoDevicesTest, ACancelReachesBothDevices) {
  Open("two_branches");
  Predict(1);
  std::vector<Tensor> outputs;
  Status status;
  {
    const Canceller canceller([&] { session_.Cancel(); });
    // A cancel before the run does nothing.
    EXPECT_TRUE(Eventually([&] {
      status = session_.Predict(Inputs(1), &outputs);
      return !status.ok();
    }));
  }
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
  Predict(1);
}

TEST_P(TwoDevicesTest, ADeadlineEndsARunThatWaitsForItsDevice) {
  Open("two_branches");
  const std::vector<float> expected = Predict(1);
  session_.SetTimeout(std::chrono::microseconds(700));  // a partition takes 1,020 us of its device
  std::vector<Tensor> outputs;
  const Status status = session_.Predict(Inputs(1), &outputs);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  session_.SetTimeout(std::chrono::nanoseconds(0));
  EXPECT_EQ(Predict(1), expected);
}

// The cancel of a run that ends at its deadline comes late now and then.
TEST_P(TwoDevicesTest, ADeadlineAtTheEndOfARunEndsNoOther) {
  Open("two_branches");
  const std::vector<float> expected = Predict(1);
  for (int i = 0; i < 150; ++i) {
    session_.SetTimeout(std::chrono::microseconds(1000 + 10 * (i % 10)));  // a run takes 1,020 us at least
    std::vector<Tensor> outputs;
    const Status status = session_.Predict(Inputs(1), &outputs);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kDeadlineExceeded) << status.ToString();
    session_.SetTimeout(std::chrono::nanoseconds(0));
    EXPECT_EQ(Predict(1), expected);
  }
  EXPECT_EQ(model_.Health().delegates.at(0).failures, 0u);
}

TEST_P(TwoDevicesTest, ACancelOfAForkedChildEndsNoRun) {
  Open("two_stages");
  const std::vector<float> expected = Predict(1);
  ASSERT_TRUE(session_.SetInFlight(4).ok());
  for (int round = 0; round < 10; ++round) {
    std::vector<std::future<PredictResult>> running;
    for (int i = 0; i < 4; ++i) running.push_back(*session_.PredictAsync(Inputs(1)));
    const pid_t child = fork();
    if (child == 0) {
      session_.Cancel();
      _exit(0);
    }
    for (std::future<PredictResult>& one : running) {
      const PredictResult result = one.get();
      ASSERT_TRUE(result.status.ok()) << result.status.ToString();
      EXPECT_EQ(Values(result.outputs), expected);
    }
    int ended = 0;
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(model_.Health().delegates.at(0).failures, 0u);
}

// Both models need the same devices; while one request runs, others of two priorities wait.
TEST_P(TwoDevicesTest, AnUrgentRequestOvertakesThoseOfOtherSessionsThatWait) {
  Open("two_stages");
  Predict(1);
  Result<Session> other = model_.CreateSession();
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  ASSERT_TRUE(session_.SetInFlight(8).ok() && other->SetInFlight(1).ok());
  EXPECT_TRUE(Eventually([&] {
    std::vector<std::future<PredictResult>> waiting;
    for (int i = 0; i < 8; ++i) waiting.push_back(*session_.PredictAsync(Inputs(i)));
    Result<std::future<PredictResult>> urgent = other->PredictAsync(Inputs(1), {.priority = 1});
    EXPECT_TRUE(urgent.ok()) << urgent.status().ToString();
    const PredictResult result = urgent->get();
    EXPECT_TRUE(result.status.ok()) << result.status.ToString();
    std::vector<uint64_t> ends_ns;
    for (std::future<PredictResult>& one : waiting) ends_ns.push_back(one.get().ended_ns);
    // In the order of arrival it would end after all but the last, which may have been in the second stage.
    return std::count_if(ends_ns.begin(), ends_ns.end(), [&](uint64_t ns) { return ns > result.ended_ns; }) >= 4;
  })) << "an urgent request waited for others in the order of their arrival";
}

INSTANTIATE_TEST_SUITE_P(Isolation, TwoDevicesTest, testing::Values("none", "process"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace deputy
