// Delegates with queues of their own: runs in flight, their order, and what ends them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/queue_delegate.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

class QueuesTest : public testing::Test {
 protected:
  using Numbers = std::vector<float>;
  static std::vector<Tensor> Input(float first) {
    const Numbers values = {first, -1, 2, -3, 4, -5};
    return {*Tensor::FromValues<float>(DType::kFloat32, {2, 3}, values)};
  }
  static void ExpectAnswer(const PredictResult& result, float first) {
    ASSERT_TRUE(result.status.ok()) << result.status.ToString();
    const auto values = result.outputs.at(0).values<float>();
    EXPECT_EQ(Numbers(values.begin(), values.end()), (Numbers{first, 0, 2, 0, 4, 0}));
  }
  void Build() {
    SetLogSink([this](LogLevel, std::string_view, std::string_view line) {
      const std::lock_guard lock(mutex_);
      log_ += std::string(line) + "\n";
    });
    context_.SetDelegate(std::make_shared<QueueDelegate>(queue_));
    const Status status = model_.Build(DEPUTY_TEST_MODELS "/relu.onnx", context_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  ~QueuesTest() override {
    queue_->holds = false;
    SetLogSink(nullptr);
  }
  Session NewSession(uint32_t in_flight = 1) {
    Session session = *model_.CreateSession();
    EXPECT_TRUE(session.SetInFlight(in_flight).ok());
    return session;
  }
  std::future<PredictResult> Submit(Session& session, float first, RequestOptions options = {}) {
    Result<std::future<PredictResult>> result = session.PredictAsync(Input(first), std::move(options));
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return std::move(result).value();
  }
  std::string Log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  // Ends runs, also those that begin meanwhile, until the work is done.
  template <class Work>
  void EndRunsWhile(Work&& work) {
    std::atomic<bool> done{false};
    std::thread ends([&] {
      while (!done)
        if (!queue_->End()) std::this_thread::yield();
    });
    work();
    done = true;
    ends.join();
  }

  const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  std::mutex mutex_;
  std::string log_;
  Context context_;
  Model model_;
};

// Seed row 49.
TEST_F(QueuesTest, TheDelegateChoosesTheNextOfTheRunsThatWait) {
  constexpr int kWaiting = 5;
  std::atomic<size_t> most_ready{0};
  // The last in the host's order.
  queue_->choose = [&](sdk::Span<const deputy_ready_run* const> ready) {
    most_ready = std::max(most_ready.load(), ready.size());
    return sdk::QueueChoice{ready.size() - 1, 0};
  };
  queue_->holds = true;
  Build();
  std::vector<Session> sessions;
  for (int i = 0; i <= kWaiting; ++i) sessions.push_back(NewSession());
  // Nothing says that a run waits: again until all of them did when the first one ended.
  EXPECT_TRUE(Eventually([&] {
    queue_->TakeBegun();
    most_ready = 0;
    std::vector<std::future<PredictResult>> results;
    for (int i = 0; i <= kWaiting; ++i) {
      results.push_back(Submit(sessions[static_cast<size_t>(i)], static_cast<float>(i), {.priority = i}));
      EXPECT_TRUE(Eventually([&] { return queue_->in_flight() == 1; }));
    }
    EndRunsWhile([&] {
      for (int i = 0; i <= kWaiting; ++i) ExpectAnswer(results[static_cast<size_t>(i)].get(), static_cast<float>(i));
    });
    return most_ready == kWaiting && queue_->TakeBegun() == Numbers{0, 1, 2, 3, 4, 5};
  }));
  EXPECT_EQ(queue_->most_in_flight(), 1u);
}

TEST_F(QueuesTest, AsManyRunsAreInFlightAsTheDelegateTakes) {
  queue_->limits.runs_in_flight = 3;
  queue_->holds = true;
  Build();
  Session session = NewSession(8);
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < 8; ++i) results.push_back(Submit(session, static_cast<float>(i + 1)));
  EXPECT_TRUE(Eventually([&] { return queue_->in_flight() == 3; }));
  EndRunsWhile([&] {
    for (int i = 0; i < 8; ++i) ExpectAnswer(results[static_cast<size_t>(i)].get(), static_cast<float>(i + 1));
  });
  EXPECT_EQ(queue_->most_in_flight(), 3u);
}

TEST_F(QueuesTest, ACancelledRunEndsWhenTheDelegateEndsIt) {
  queue_->holds = true;
  queue_->on_cancel = [this] { queue_->End(sdk::Status(sdk::Code::kCancelled, "stopped")); };
  Build();
  Session session = NewSession(2);
  std::future<PredictResult> first = Submit(session, 1), waiting = Submit(session, 2);
  EXPECT_TRUE(Eventually([&] { return queue_->in_flight() == 1; }));
  session.Cancel();
  EXPECT_EQ(first.get().status.code(), StatusCode::kCancelled);
  EXPECT_EQ(waiting.get().status.code(), StatusCode::kCancelled) << "it waited for the queue";
  queue_->holds = false;
  ExpectAnswer(Submit(session, 3).get(), 3);
}

TEST_F(QueuesTest, ALateEndIsNoAnswer) {
  queue_->holds = true;
  Build();
  Session session = NewSession(), other = NewSession();
  session.SetTimeout(std::chrono::milliseconds(5));
  other.SetTimeout(std::chrono::milliseconds(5));
  std::future<PredictResult> result = Submit(session, 1);
  EXPECT_TRUE(Eventually([&] { return queue_->any_cancelled(); }));
  EXPECT_EQ(Submit(other, 2).get().status.code(), StatusCode::kDeadlineExceeded) << "it waits no longer than it may";
  EXPECT_TRUE(queue_->End());
  EXPECT_EQ(result.get().status.code(), StatusCode::kDeadlineExceeded);
  queue_->holds = false;
  session.SetTimeout(std::chrono::milliseconds(0));
  ExpectAnswer(Submit(session, 3).get(), 3);
}

// The host cancels a late run, which its delegate then ends as cancelled, or however it can.
TEST_F(QueuesTest, ALateOrCancelledRunEndsAsSuchWhateverItsDelegateSays) {
  queue_->holds = true;
  sdk::Code code = sdk::Code::kCancelled;
  queue_->on_cancel = [&] { queue_->End(sdk::Status(code, "stopped")); };
  Build();
  Session session = NewSession();
  session.SetTimeout(std::chrono::milliseconds(5));
  for (const sdk::Code said : {sdk::Code::kCancelled, sdk::Code::kInternal, sdk::Code::kDeviceLost}) {
    code = said;
    EXPECT_EQ(Submit(session, 1).get().status.code(), StatusCode::kDeadlineExceeded) << static_cast<int>(said);
  }
  session.SetTimeout(std::chrono::milliseconds(0));
  code = sdk::Code::kUnavailable;
  std::future<PredictResult> result = Submit(session, 1);
  EXPECT_TRUE(Eventually([&] { return queue_->in_flight() == 1; }));
  session.Cancel();
  EXPECT_EQ(result.get().status.code(), StatusCode::kCancelled);
}

TEST_F(QueuesTest, ALostDeviceIsAnsweredFor) {
  queue_->limits.runs_in_flight = 4;
  queue_->holds = true;
  Build();
  Session session = NewSession(4);
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < 4; ++i) results.push_back(Submit(session, static_cast<float>(i + 1)));
  EXPECT_TRUE(Eventually([&] { return queue_->in_flight() == 4; }));
  queue_->holds = false;
  while (queue_->End(sdk::Status(sdk::Code::kDeviceLost, "the device is gone"))) {
  }
  for (int i = 0; i < 4; ++i) {
    const PredictResult result = results[static_cast<size_t>(i)].get();
    ExpectAnswer(result, static_cast<float>(i + 1));
    EXPECT_EQ(result.request, static_cast<uint64_t>(i + 1));
  }
  EXPECT_NE(Log().find("the device is gone"), std::string::npos) << Log();
}

TEST_F(QueuesTest, AQueueThatStaysFullIsAnsweredFor) {
  std::atomic<int> attempts{0};
  queue_->on_submit = [&](const sdk::RunArgs&) {
    ++attempts;
    return sdk::Status(sdk::Code::kUnavailable, "the queue is full");
  };
  Build();
  Session session = NewSession();
  ExpectAnswer(Submit(session, 1).get(), 1);
  EXPECT_GT(attempts, 1);
  EXPECT_NE(Log().find("the queue is full"), std::string::npos) << Log();
}

TEST_F(QueuesTest, DelegatesOfOneGroupNeverRunAtOnce) {
  const auto other = std::make_shared<Queue>();
  for (const std::shared_ptr<Queue>& queue : {queue_, other}) {
    queue->limits = {1, 4, 1, "the bus"};
    queue->holds = true;
  }
  Build();
  Context second;
  second.SetDelegate(std::make_shared<QueueDelegate>(other));
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_MODELS "/relu.onnx", second).ok());
  Session one = NewSession(4), two = *model.CreateSession();
  ASSERT_TRUE(two.SetInFlight(4).ok());
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < 4; ++i) {
    results.push_back(Submit(one, 1));
    results.push_back(Submit(two, 1));
  }
  EXPECT_TRUE(Eventually([&] { return queue_->in_flight() + other->in_flight() != 0; }));
  std::atomic<bool> done{false};
  bool overlapped = false;
  std::thread ends([&] {
    while (!done) {
      const size_t here = queue_->in_flight(), there = other->in_flight(), still_here = queue_->in_flight();
      overlapped = overlapped || (here != 0 && there != 0 && still_here != 0);
      if (!queue_->End() && !other->End()) std::this_thread::yield();
    }
  });
  for (std::future<PredictResult>& result : results) ExpectAnswer(result.get(), 1);
  done = true;
  ends.join();
  EXPECT_FALSE(overlapped);
}

}  // namespace
}  // namespace deputy
