// Runs on the thread of the device: their order, and those that are cancelled before they begin.
#include "plugins/sim_npu/command_queue.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sim_npu {
namespace {

using deputy::sdk::Code;
using deputy::sdk::RunArgs;
using deputy::sdk::Status;

class TestContext final : public deputy::sdk::ExecutionContext {
 public:
  explicit TestContext(std::function<Status(const RunArgs&)> execute) : execute_(std::move(execute)) {}
  Status Execute(const RunArgs& args) override { return execute_(args); }

 private:
  const std::function<Status(const RunArgs&)> execute_;
};

class TestRun final : public deputy::sdk::SubmittedRun {
 public:
  explicit TestRun(uint64_t number) { args_.run = number; }
  const RunArgs& args() const override { return view_; }
  uint32_t queue() const override { return 0; }
  int32_t priority() const override { return 0; }
  void End(Status status) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = std::move(status);
    ended_ = true;
    changed_.notify_all();
  }
  Status Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
    return status_;
  }
  void Cancel() { cancelled_ = args_.run; }

 private:
  deputy_run_args args_{};
  std::atomic<uint64_t> cancelled_{0};
  const RunArgs view_{args_, deputy::sdk::Host(), &cancelled_};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  Status status_;
};

TEST(CommandQueueTest, RunsAreExecutedInOrderOnAnotherThread) {
  std::vector<std::thread::id> threads;
  TestContext context([&](const RunArgs&) {
    threads.push_back(std::this_thread::get_id());
    return threads.size() == 2 ? Status(Code::kInternal, "the second") : Status();
  });
  TestRun runs[] = {TestRun(1), TestRun(2), TestRun(3)};
  CommandQueue queue;
  for (TestRun& run : runs) queue.Add(context, run);
  EXPECT_TRUE(runs[0].Wait().ok());
  EXPECT_EQ(runs[1].Wait().message(), "the second");
  EXPECT_TRUE(runs[2].Wait().ok());
  EXPECT_NE(threads[0], std::this_thread::get_id());
  EXPECT_EQ(threads[0], threads[2]);
}

TEST(CommandQueueTest, ACancelledRunThatWaitsEndsAtOnce) {
  std::mutex held;
  held.lock();
  int executed = 0;
  TestContext context([&](const RunArgs&) {
    const std::lock_guard<std::mutex> lock(held);
    ++executed;
    return Status();
  });
  TestRun first(1), second(2), third(3);
  CommandQueue queue;
  for (TestRun* run : {&first, &second, &third}) queue.Add(context, *run);
  second.Cancel();
  queue.EndCancelled();
  EXPECT_EQ(second.Wait().code(), Code::kCancelled);
  held.unlock();
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_TRUE(third.Wait().ok());
  EXPECT_EQ(executed, 2);
}

TEST(CommandQueueTest, AnExceptionIsTheEndOfItsRunAlone) {
  int executed = 0;
  TestContext context([&](const RunArgs&) -> Status {
    if (++executed == 1) throw std::runtime_error("thrown");
    return {};
  });
  TestRun first(1), second(2);
  CommandQueue queue;
  queue.Add(context, first);
  queue.Add(context, second);
  EXPECT_EQ(first.Wait().message(), "thrown");
  EXPECT_TRUE(second.Wait().ok());
}

}  // namespace
}  // namespace sim_npu
