// The checked proxy around runs that a delegate begins and ends by itself.
#include "plugin/proxy/submitted_runs.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "support/waiting.hpp"
#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::AbleDelegate;

class SubmittedRunsTest : public AbleDelegate {
 protected:
  SubmittedRunsTest() {
    actor_.is_async = true;
    actor_.cancel_run = []() -> deputy_status* { return nullptr; };
    actor_.submit = [this](const deputy_async_args& args, deputy_async_run*& run) { return Take(args, run); };
  }
  ~SubmittedRunsTest() override {
    if (thread_.joinable()) thread_.join();
  }
  // Keeps a run that was submitted: End ends it.
  deputy_status* Take(const deputy_async_args& args, deputy_async_run*& run) {
    EXPECT_EQ(args.struct_size, sizeof args);
    EXPECT_EQ(args.wait_count, 0u);
    EXPECT_EQ(args.run->input_count, 1u);
    sink_ = args.sink;
    number_ = args.number;
    run = reinterpret_cast<deputy_async_run*>(&actor_);
    ++submitted_;
    return nullptr;
  }
  void End(deputy_status* status = nullptr) { sink_->done(sink_->self, number_, status); }

  Status Execute(const CancellationToken* token = nullptr) {
    deputy_tensor input{}, output{};
    input.data = output.data = values_;
    input.byte_size = output.byte_size = sizeof values_;
    input.struct_size = output.struct_size = sizeof input;
    const deputy_tensor* const inputs[] = {&input};
    deputy_tensor* const outputs[] = {&output};
    RunArgs args{inputs, outputs};
    args.cancellation = token;
    if (context_ == nullptr) context_ = Context();
    return context_->Execute(args);
  }
  // The same on a thread of its own; returns when the run was submitted.
  void Begin(const CancellationToken* token = nullptr) {
    thread_ = std::thread([this, token] { status_ = Execute(token); });
    EXPECT_TRUE(Eventually([&] { return submitted_ == 1; }));
  }
  bool Logged(const std::string& text) const { return log_.text().find(text) != std::string::npos; }

  float values_[4] = {};
  std::unique_ptr<ExecutionContext> context_;
  const deputy_async_sink* sink_ = nullptr;
  uint64_t number_ = 0;
  std::atomic<int> submitted_{0};
  std::thread thread_;
  Status status_;
};

TEST_F(SubmittedRunsTest, ARunEndsWhenTheDelegateSaysSo) {
  actor_.submit = [this](const deputy_async_args& args, deputy_async_run*& run) {
    values_[0] = values_[1] = values_[2] = values_[3] = 3;  // the first run writes all of its outputs
    return Take(args, run);
  };
  Begin();
  EXPECT_EQ(actor_.destroyed_runs, 0);
  End();
  thread_.join();
  EXPECT_TRUE(status_.ok()) << status_.ToString();
  EXPECT_EQ(actor_.destroyed_runs, 1);
}

TEST_F(SubmittedRunsTest, ARunMayEndBeforeSubmitReturns) {
  actor_.submit = [this](const deputy_async_args& args, deputy_async_run*& run) -> deputy_status* {
    Take(args, run);
    End(actor_.Fail(DEPUTY_DEVICE_LOST, "gone"));
    return nullptr;
  };
  const Status status = Execute();
  EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
  EXPECT_NE(status.ToString().find("done: gone"), std::string::npos) << status.ToString();
  EXPECT_EQ(actor_.destroyed_runs, 1);
}

TEST_F(SubmittedRunsTest, AFailedSubmitHasNoRun) {
  actor_.submit = [this](const deputy_async_args&, deputy_async_run*&) { return actor_.Fail(DEPUTY_INTERNAL, "no"); };
  EXPECT_EQ(Execute().code(), StatusCode::kInternal);
  actor_.submit = [](const deputy_async_args&, deputy_async_run*&) -> deputy_status* { return nullptr; };
  EXPECT_EQ(Execute().code(), StatusCode::kPlugin);
  EXPECT_TRUE(Logged("it succeeded without a run"));
  EXPECT_EQ(actor_.destroyed_runs, 0);
}

TEST_F(SubmittedRunsTest, AFullQueueIsTriedAgain) {
  actor_.submit = [this](const deputy_async_args& args, deputy_async_run*& run) -> deputy_status* {
    if (++submitted_ < 4) return actor_.Fail(DEPUTY_UNAVAILABLE, "full");
    Take(args, run);
    End(actor_.Fail(DEPUTY_INTERNAL, "begun"));
    return nullptr;
  };
  EXPECT_EQ(Execute().message(), "begun");
}

TEST_F(SubmittedRunsTest, AQueueThatStaysFullIsAFailure) {
  actor_.submit = [this](const deputy_async_args&, deputy_async_run*&) {
    ++submitted_;
    return actor_.Fail(DEPUTY_UNAVAILABLE, "full");
  };
  CancellationToken token;
  token.deadline_ns = NowNs() + 20'000'000;
  EXPECT_EQ(Execute(&token).code(), StatusCode::kDeadlineExceeded);
  EXPECT_GT(submitted_, 1);
  EXPECT_EQ(Execute().code(), StatusCode::kUnavailable) << "after a second";
}

TEST_F(SubmittedRunsTest, ACancelReachesTheRunAndItsEndIsWaitedFor) {
  std::atomic<int> cancels{0};
  actor_.cancel_run = [&]() -> deputy_status* {
    ++cancels;
    return nullptr;
  };
  std::atomic<uint64_t> cancelled_ns{0};
  CancelHook hook;
  CancellationToken token;
  token.cancelled_ns = &cancelled_ns;
  token.hook = &hook;
  Begin(&token);
  cancelled_ns = 1;
  hook.Call();
  EXPECT_TRUE(Eventually([&] { return cancels == 1; }));
  EXPECT_EQ(actor_.destroyed_runs, 0);
  End(actor_.Fail(DEPUTY_CANCELLED, "stopped"));
  thread_.join();
  EXPECT_EQ(status_.code(), StatusCode::kCancelled);
  EXPECT_EQ(cancels, 1);
}

TEST_F(SubmittedRunsTest, ADeadlineCancelsTheRun) {
  CancellationToken token;
  token.deadline_ns = NowNs() + 5'000'000;
  actor_.cancel_run = [this]() -> deputy_status* {
    End(actor_.Fail(DEPUTY_DEADLINE_EXCEEDED, "late"));
    return actor_.Fail(DEPUTY_INTERNAL, "it has ended already");
  };
  EXPECT_EQ(Execute(&token).code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Logged("it has ended already"));
  EXPECT_EQ(actor_.destroyed_runs, 1);
}

TEST_F(SubmittedRunsTest, EndsOfNoRunAreReportedAndChangeNothing) {
  Begin();
  sink_->done(sink_->self, number_ + 1, actor_.Fail(DEPUTY_INTERNAL, "of another"));
  EXPECT_TRUE(Logged("done broke its contract: run"));
  EXPECT_EQ(actor_.destroyed_runs, 0);
  End(actor_.Fail(DEPUTY_INTERNAL, "first"));
  thread_.join();
  EXPECT_EQ(status_.message(), "first");
  const std::string before = log_.text();
  End(actor_.Fail(DEPUTY_INTERNAL, "second"));
  EXPECT_NE(log_.text(), before);
  context_ = nullptr;
  delegate_ = nullptr;
  End();  // a thread of the plugin that is late
}

TEST_F(SubmittedRunsTest, RunsOfAContextThatEndedLateDoNotEndLaterOnes) {
  std::optional<uint64_t> late;
  actor_.submit = [&](const deputy_async_args& args, deputy_async_run*& run) -> deputy_status* {
    Take(args, run);
    if (late) sink_->done(sink_->self, *late, nullptr);
    late = number_;
    End(actor_.Fail(DEPUTY_INTERNAL, "this one"));
    return nullptr;
  };
  EXPECT_EQ(Execute().message(), "this one");
  EXPECT_EQ(Execute().message(), "this one");
}

}  // namespace
}  // namespace deputy::host
