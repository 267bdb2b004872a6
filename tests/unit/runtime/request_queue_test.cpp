#include "runtime/request_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cancellation.hpp"
#include "support/waiting.hpp"

namespace deputy::host {
namespace {

using std::chrono::milliseconds;

// Runs that last until the test lets them end, or a cancel does.
class HeldRunner final : public RequestRunner {
 public:
  explicit HeldRunner(std::atomic<uint64_t>& may_end) : may_end_(may_end) {}
  void Run(QueuedRequest& request, const std::atomic<bool>& cancelled) override {
    running = request.result.request;
    EXPECT_TRUE(Eventually([&] { return may_end_ >= request.result.request || cancelled || ends_; }));
    if (cancelled) request.result.status = Status(StatusCode::kCancelled, "the run was cancelled");
    ends_ = false;
    running = 0;
  }
  void Cancel() override { ends_ = true; }

  std::atomic<uint64_t> running{0};  // the request; 0: none

 private:
  std::atomic<uint64_t>& may_end_;
  std::atomic<bool> ends_{false};
};

class RequestQueueTest : public testing::Test {
 protected:
  void Start(size_t runners, size_t most, ResultOrder order = ResultOrder::kAsSubmitted) {
    std::vector<std::unique_ptr<RequestRunner>> made;
    for (size_t i = 0; i < runners; ++i) {
      auto runner = std::make_unique<HeldRunner>(may_end_);
      runners_.push_back(runner.get());
      made.push_back(std::move(runner));
    }
    Result<std::unique_ptr<RequestQueue>> queue = RequestQueue::Start(std::move(made), most, order, in_use_);
    ASSERT_TRUE(queue.ok()) << queue.status().ToString();
    queue_ = std::move(queue).value();
  }
  Result<uint64_t> Submit(milliseconds timeout = milliseconds(0), int32_t priority = 0) {
    QueuedRequest request;
    request.priority = priority;
    request.timeout_ns = static_cast<uint64_t>(timeout.count()) * 1'000'000;
    request.done = [this](PredictResult&& result) {
      const std::lock_guard lock(mutex_);
      results_.push_back(std::move(result));
    };
    return queue_->Submit(request);
  }
  std::vector<PredictResult> Results() {
    const std::lock_guard lock(mutex_);
    return results_;
  }
  std::vector<uint64_t> Numbers() {
    std::vector<uint64_t> numbers;
    for (const PredictResult& result : Results()) numbers.push_back(result.request);
    return numbers;
  }
  bool Runs(uint64_t request) {
    return Eventually([&] {
      return std::any_of(runners_.begin(), runners_.end(), [&](HeldRunner* one) { return one->running == request; });
    });
  }

  std::atomic<uint64_t> may_end_{0};  // requests up to this number may end
  std::atomic<SessionUse> in_use_{SessionUse::kFree};
  std::vector<HeldRunner*> runners_;
  std::mutex mutex_;
  std::vector<PredictResult> results_;
  std::unique_ptr<RequestQueue> queue_;
};

TEST_F(RequestQueueTest, ResultsComeInTheOrderOfTheRequests) {
  Start(3, 3);
  for (uint64_t number = 1; number <= 3; ++number) ASSERT_EQ(Submit().value(), number);
  for (uint64_t number = 1; number <= 3; ++number) ASSERT_TRUE(Runs(number));
  // The last one ends first.
  for (HeldRunner* runner : runners_)
    if (runner->running == 3) runner->Cancel();
  ASSERT_TRUE(Eventually([&] {
    return std::none_of(runners_.begin(), runners_.end(), [](HeldRunner* one) { return one->running == 3; });
  }));
  EXPECT_TRUE(Results().empty());
  may_end_ = 3;
  ASSERT_TRUE(Eventually([&] { return Results().size() == 3; }));
  EXPECT_EQ(Numbers(), (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(RequestQueueTest, OrAsTheyEnd) {
  Start(2, 2, ResultOrder::kAsTheyEnd);
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Runs(1) && Runs(2));
  for (HeldRunner* runner : runners_)
    if (runner->running == 2) runner->Cancel();
  ASSERT_TRUE(Eventually([&] { return Results().size() == 1; }));
  may_end_ = 2;
  ASSERT_TRUE(Eventually([&] { return Results().size() == 2; }));
  EXPECT_EQ(Numbers(), (std::vector<uint64_t>{2, 1}));
}

// The first request runs until the others are there; their priorities, and the order in which all begin.
struct PriorityCase {
  ResultOrder order;
  std::vector<int32_t> priorities;
  std::vector<uint64_t> expected;
};

TEST_F(RequestQueueTest, TheLargestPriorityBeginsFirstWhereResultsComeAsTheyEnd) {
  const PriorityCase cases[] = {{ResultOrder::kAsTheyEnd, {0, 5, -1, 5}, {1, 3, 5, 2, 4}},
                                {ResultOrder::kAsSubmitted, {0, 5, -1, 5}, {1, 2, 3, 4, 5}}};
  for (const PriorityCase& one : cases) {
    Start(1, 8, one.order);
    ASSERT_TRUE(Submit().ok());
    ASSERT_TRUE(Runs(1));
    for (const int32_t priority : one.priorities) ASSERT_TRUE(Submit(milliseconds(0), priority).ok());
    may_end_ = 100;
    ASSERT_TRUE(Eventually([&] { return Results().size() == one.expected.size(); }));
    EXPECT_EQ(Numbers(), one.expected);
    queue_.reset();
    runners_.clear();
    results_.clear();
    may_end_ = 0;
  }
}

TEST_F(RequestQueueTest, ARequestThatManyHaveOvertakenBeginsBeforeThem) {
  constexpr uint64_t kMost = Turn::kMostOvertakes;
  Start(1, kMost + 4, ResultOrder::kAsTheyEnd);
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Runs(1));
  ASSERT_EQ(Submit(milliseconds(0), 0).value(), 2u);
  for (uint64_t i = 0; i < kMost + 2; ++i) ASSERT_TRUE(Submit(milliseconds(0), 1).ok());
  may_end_ = 100;
  ASSERT_TRUE(Eventually([&] { return Results().size() == kMost + 4; }));
  EXPECT_EQ(Numbers()[1 + kMost], 2u);
}

TEST_F(RequestQueueTest, AFullQueueIsAnAnswerAndTheRequestIsUnchanged) {
  Start(1, 2);
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Submit().ok());
  QueuedRequest request;
  request.done = [](PredictResult&&) {};
  request.result.inputs.resize(1);
  const Result<uint64_t> refused = queue_->Submit(request);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(request.result.inputs.size(), 1u);
  EXPECT_NE(request.done, nullptr);
  may_end_ = 9;
  ASSERT_TRUE(Eventually([&] { return Results().size() == 2; }));
  EXPECT_TRUE(Submit().ok());
}

TEST_F(RequestQueueTest, ACallbackMaySubmitTheNextRequest) {
  Start(1, 1);
  may_end_ = 100;
  std::atomic<int> left{5};
  std::function<void(PredictResult &&)> next = [&](PredictResult&&) {
    if (--left == 0) return;
    QueuedRequest request;
    request.done = next;
    EXPECT_TRUE(queue_->Submit(request).ok());
  };
  QueuedRequest request;
  request.done = next;
  ASSERT_TRUE(queue_->Submit(request).ok());
  EXPECT_TRUE(Eventually([&] { return left == 0; }));
}

TEST_F(RequestQueueTest, ACancelledRequestThatHasNotBegunDoesNotWaitForEarlierOnes) {
  Start(1, 3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Runs(1));
  queue_->Cancel(2);
  ASSERT_TRUE(Eventually([&] { return Results().size() == 1; }));
  EXPECT_EQ(Numbers(), (std::vector<uint64_t>{2}));
  EXPECT_EQ(Results()[0].status.code(), StatusCode::kCancelled);
  EXPECT_EQ(Results()[0].begun_ns, 0u);
  may_end_ = 3;
  ASSERT_TRUE(Eventually([&] { return Results().size() == 3; }));
  EXPECT_EQ(Numbers(), (std::vector<uint64_t>{2, 1, 3}));
}

TEST_F(RequestQueueTest, ACancelEndsTheRunOfItsRequestAlone) {
  Start(2, 2);
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Runs(1) && Runs(2));
  queue_->Cancel(1);
  ASSERT_TRUE(Eventually([&] { return Results().size() == 1; }));
  EXPECT_EQ(Results()[0].request, 1u);
  EXPECT_EQ(Results()[0].status.code(), StatusCode::kCancelled);
  EXPECT_TRUE(Runs(2));
  may_end_ = 2;
  ASSERT_TRUE(Eventually([&] { return Results().size() == 2; }));
  EXPECT_TRUE(Results()[1].status.ok());
}

TEST_F(RequestQueueTest, ARequestWhoseTimeIsOverBeforeItBeginsIsReportedAtOnce) {
  Start(1, 2);
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Runs(1));
  const uint64_t begin_ns = NowNs();
  ASSERT_TRUE(Submit(milliseconds(20)).ok());
  ASSERT_TRUE(Eventually([&] { return Results().size() == 1; }));
  EXPECT_GE(NowNs() - begin_ns, 20'000'000u);
  EXPECT_EQ(Results()[0].request, 2u);
  EXPECT_EQ(Results()[0].status.code(), StatusCode::kDeadlineExceeded);
  may_end_ = 1;
  ASSERT_TRUE(Eventually([&] { return Results().size() == 2; }));
}

TEST_F(RequestQueueTest, TheEndOfTheQueueCancelsAllAndHandsOnEveryResult) {
  Start(2, 5);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Submit().ok());
  queue_ = nullptr;
  ASSERT_EQ(results_.size(), 5u);
  for (const PredictResult& result : results_) EXPECT_EQ(result.status.code(), StatusCode::kCancelled);
  EXPECT_EQ(in_use_, SessionUse::kFree);
}

TEST_F(RequestQueueTest, TheSessionIsInUseWhileRequestsAreInFlight) {
  Start(1, 2);
  in_use_ = SessionUse::kCall;
  EXPECT_EQ(Submit().status().code(), StatusCode::kFailedPrecondition);
  in_use_ = SessionUse::kFree;
  ASSERT_TRUE(Submit().ok());
  EXPECT_EQ(in_use_, SessionUse::kRequests);
  ASSERT_TRUE(Submit().ok());
  may_end_ = 2;
  EXPECT_TRUE(Eventually([&] { return in_use_ == SessionUse::kFree; }));
}

TEST_F(RequestQueueTest, EveryRequestOfManyThreadsHasOneResult) {
  Start(3, 8, ResultOrder::kAsTheyEnd);
  may_end_ = UINT64_MAX;
  std::atomic<size_t> submitted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        const Result<uint64_t> number = Submit(milliseconds(n % 3 == 0 ? 1 : 0));
        if (number.ok()) ++submitted;
        if (number.ok() && n % 5 == 0) queue_->Cancel(*number);
      }
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Eventually([&] { return Results().size() == submitted; }));
  std::vector<uint64_t> numbers = Numbers();
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i + 1);
}

}  // namespace
}  // namespace deputy::host
