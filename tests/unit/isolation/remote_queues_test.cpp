// Queues of a delegate in a worker process, with the host's own order, limits and groups before them. The plugin
// every_slot ends no run that waits before it is cancelled, takes five at once, and lets no two calls of two
// executables overlap.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "base/turn.hpp"
#include "delegate/delegate.hpp"
#include "isolation/remote_delegate.hpp"
#include "support/process_state.hpp"
#include "support/waiting.hpp"
#include "unit/isolation/plugged.hpp"

namespace deputy::host::testing {
namespace {

class RemoteQueues : public ::testing::Test {
 protected:
  RemoteQueues() { SetLogLevel(LogLevel::kOff); }
  ~RemoteQueues() override { SetLogLevel(LogLevel::kInfo); }

  std::unique_ptr<Delegate> Open(RemotePluginOptions options = {}) {
    OpenRequest request;
    request.name = "far";
    return OpenServed(Remote(EverySlotPath(), std::move(options)), EverySlotPath(), request);
  }

  // An executable of its own and a context, with a run of four elements.
  class Runner {
   public:
    explicit Runner(Delegate& delegate) : graph_(WithWeights()), view_(OfferAll(graph_)) {
      executable_ = *delegate.Compile(view_, {{0}, {0}, {1}, nullptr, "far.0"});
      context_ = *executable_->CreateContext();
    }
    Status Run(uint32_t way, const CancellationToken* token = nullptr) {
      const plain::PlainRun plain(in_.data(), out.data(), out.size());
      RunArgs args{plain.inputs, plain.outputs};
      args.cancellation = token;
      args.hints.power_level = way;
      return context_->Execute(args);
    }

    std::vector<float> out = std::vector<float>(4);

   private:
    const std::vector<float> in_ = {1, 2, 3, 4};
    const Graph graph_;
    const GraphView view_;
    std::shared_ptr<const Executable> executable_;
    std::unique_ptr<ExecutionContext> context_;
  };

  // A run that waits, on a thread of its own, until it is cancelled.
  class Waiting {
   public:
    explicit Waiting(Delegate& delegate)
        : runner_(delegate), thread_([this] { status = runner_.Run(kWaits, &token_), has_ended_ = true; }) {}
    ~Waiting() { End(); }
    void End() {
      if (!thread_.joinable()) return;
      cancelled_ns_ = NowNs();
      // Until it has ended: before the run has begun there is nothing to cancel.
      EXPECT_TRUE(Eventually([&] {
        hook_.Call();
        return has_ended_.load();
      }));
      thread_.join();
    }
    bool has_ended() const { return has_ended_; }

    Status status;

   private:
    Runner runner_;
    std::atomic<uint64_t> cancelled_ns_{0};
    CancelHook hook_;
    const CancellationToken token_{0, &cancelled_ns_, &hook_, nullptr};
    std::atomic<bool> has_ended_{false};
    std::thread thread_;
  };
};

TEST_F(RemoteQueues, AsManyRunsAsTheDelegateTakesAreInItsQueueAtOnce) {
  const std::unique_ptr<Delegate> delegate = Open();
  ASSERT_NE(delegate, nullptr);
  std::vector<std::unique_ptr<Waiting>> five;
  for (int i = 0; i < 5; ++i) five.push_back(std::make_unique<Waiting>(*delegate));
  Runner other(*delegate);
  EXPECT_TRUE(Eventually([&] {
    const CancellationToken soon{NowNs() + 2'000'000};
    return other.Run(kNormal, &soon).code() == StatusCode::kDeadlineExceeded;
  }));
  five.back()->End();
  EXPECT_EQ(five.back()->status.code(), StatusCode::kCancelled) << five.back()->status.ToString();
  for (int run = 0; run < 5; ++run) {
    ASSERT_EQ(other.Run(kNormal).ToString(), Status().ToString());
    EXPECT_EQ(other.out, (std::vector<float>{3, 6, 9, 12}));
  }
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(five[static_cast<size_t>(i)]->has_ended());
}

// A context over the tables alone.
struct Tables {
  Tables() {
    EXPECT_EQ(plugged.Open(instance).message, "");
    EXPECT_EQ(plugged.Compile(instance, executable).message, "");
    EXPECT_EQ(plugged.CreateContext(executable, context).message, "");
  }
  ~Tables() {
    plugged.delegate->context_destroy(context);
    plugged.delegate->executable_destroy(executable);
    plugged.delegate->close(instance);
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const std::shared_ptr<RemotePlugin> remote = Remote(EverySlotPath());
  const Plugged plugged{remote->table()};
  const deputy_ext_async& async =
      *static_cast<const deputy_ext_async*>(plugged.delegate->get_extension(plugged.delegate, DEPUTY_EXT_ASYNC));
  deputy_instance* instance = nullptr;
  deputy_executable* executable = nullptr;
  deputy_context* context = nullptr;
};

// The cancel of a run that has ended meanwhile.
TEST_F(RemoteQueues, ALateCancelEndsNoLaterRun) {
  const Tables tables;
  const Plugged& plugged = tables.plugged;
  const deputy_ext_async& async = tables.async;
  std::vector<float> in(4), out(4);
  plain::PlainRun plain(in.data(), out.data(), in.size());
  plain.args.power_level = kWaits;
  plain.args.run = 2;
  deputy_async_args args{};
  args.struct_size = sizeof args;
  args.run = &plain.args;
  deputy_async_run* run = nullptr;
  ASSERT_EQ(plugged.Take(async.submit(tables.context, &args, &run)).message, "");
  const uint64_t token = RemoteContext::Of(tables.context).token;
  tables.remote->link().Cancel(Function::kCancelSubmitted, token, 1);
  EXPECT_EQ(plugged.Take(async.wait(run, NowNs() + 50'000'000)).code, uint32_t{DEPUTY_DEADLINE_EXCEEDED});
  tables.remote->link().Cancel(Function::kCancelSubmitted, token, 2);
  EXPECT_EQ(plugged.Take(async.wait(run, 0)).code, uint32_t{DEPUTY_CANCELLED});
  async.run_destroy(run);
  // A run that is given up before it has ended ends the worker: it goes on with what it was given.
  plain.args.run = 3;  // a cancel of 2 may still be on its way
  ASSERT_EQ(plugged.Take(async.submit(tables.context, &args, &run)).message, "");
  async.run_destroy(run);
  EXPECT_TRUE(Eventually([&] { return tables.remote->link().has_ended(); }));
  EXPECT_EQ(tables.remote->link().OwnFault(), "");
}

// The group is the same in two worker processes.
TEST_F(RemoteQueues, DelegatesOfOneGroupNeverRunAtOnce) {
  const std::unique_ptr<Delegate> one = Open(), two = Open();
  ASSERT_TRUE(one != nullptr && two != nullptr);
  Runner other(*two);
  Waiting waiting(*one);
  EXPECT_TRUE(Eventually([&] {
    const CancellationToken soon{NowNs() + 2'000'000};
    return other.Run(kNormal, &soon).code() == StatusCode::kDeadlineExceeded;
  }));
  waiting.End();
  EXPECT_TRUE(other.Run(kNormal).ok());
}

TEST_F(RemoteQueues, ADeadlineEndsARunInTheQueue) {
  const std::unique_ptr<Delegate> delegate = Open();
  ASSERT_NE(delegate, nullptr);
  Runner runner(*delegate);
  const CancellationToken soon{NowNs() + 5'000'000};
  EXPECT_EQ(runner.Run(kWaits, &soon).code(), StatusCode::kCancelled);
  EXPECT_TRUE(runner.Run(kNormal).ok());
}

TEST_F(RemoteQueues, AFailureOfARunIsThatOfItsEnd) {
  const std::unique_ptr<Delegate> delegate = Open();
  ASSERT_NE(delegate, nullptr);
  Runner runner(*delegate);
  const Status status = runner.Run(kFails);
  EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
  EXPECT_NE(status.message().find("the run did not end well"), std::string::npos) << status.ToString();
}

TEST_F(RemoteQueues, TheEndOfTheProcessEndsAllRunsInItsQueue) {
  const std::unique_ptr<Delegate> delegate = Open();
  ASSERT_NE(delegate, nullptr);
  Waiting one(*delegate), two(*delegate);
  Runner other(*delegate);
  EXPECT_TRUE(other.Run(kNormal).ok());
  for (const pid_t worker : ChildProcesses()) kill(worker, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return one.has_ended() && two.has_ended(); }));
  one.End(), two.End();
  EXPECT_EQ(one.status.code(), StatusCode::kDeviceLost) << one.status.ToString();
  EXPECT_EQ(two.status.code(), StatusCode::kDeviceLost) << two.status.ToString();
  EXPECT_EQ(other.Run(kNormal).code(), StatusCode::kDeviceLost);
}

TEST_F(RemoteQueues, ARunThatDoesNotEndIsEndedWithTheProcess) {
  RemotePluginOptions options;
  options.run_timeout = std::chrono::milliseconds(300);
  const std::unique_ptr<Delegate> delegate = Open(options);
  ASSERT_NE(delegate, nullptr);
  Runner runner(*delegate);
  EXPECT_TRUE(runner.Run(kNormal).ok());
  const Status status = runner.Run(kWaits);
  EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
  EXPECT_NE(status.message().find("did not end a run within 300 ms"), std::string::npos) << status.ToString();
}

TEST_F(RemoteQueues, ARunHasNeitherSinkNorFences) {
  const Tables tables;
  const Plugged& plugged = tables.plugged;
  const deputy_ext_async& async = tables.async;
  std::vector<float> in(4), out(4);
  const plain::PlainRun run(in.data(), out.data(), in.size());
  const deputy_async_sink sink{sizeof sink, 0, nullptr, [](void*, uint64_t, deputy_status*) { ADD_FAILURE(); }};
  deputy_async_args with_sink{};
  with_sink.struct_size = sizeof with_sink;
  with_sink.run = &run.args;
  deputy_async_args with_fence = with_sink;
  with_sink.sink = &sink;
  with_fence.wait_count = 1;
  for (const deputy_async_args* args : {&with_sink, &with_fence}) {
    deputy_async_run* made = nullptr;
    EXPECT_EQ(plugged.Take(async.submit(tables.context, args, &made)).code, uint32_t{DEPUTY_INVALID_ARGUMENT});
    EXPECT_EQ(made, nullptr);
  }
}

}  // namespace
}  // namespace deputy::host::testing
