// One const Context in several threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "samples/mindspore_tutorial/tutorial_delegate.hpp"
#include "support/digits.hpp"
#include "support/process_state.hpp"
#include "support/relu_delegate.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

constexpr size_t kThreads = 8;

template <class F>
void OnThreads(F work) {
  std::atomic<size_t> ready{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready != kThreads) std::this_thread::yield();
      work(t);
    });
  for (std::thread& thread : threads) thread.join();
}

std::vector<float> Answers(const Model& model) {
  Result<Session> session = model.CreateSession();
  EXPECT_TRUE(session.ok()) << session.status().ToString();
  return session.ok() ? Answer(*session, Pictures(2)) : std::vector<float>();
}

TEST(SharedContext, ThreadsThatBuildFromOneConstContextOpenItsDelegatesOnce) {
  const LogLines lines(LogLevel::kDebug);
  Context made = *Context::FromYamlText("t.yaml", "version: 1\nlog: {level: info}\ndelegates: [{name: no_such_npu}]\n");
  made.AddDelegate(std::make_shared<tutorial::TutorialDelegate>());
  const Context& context = made;
  std::vector<Model> models(kThreads);
  std::vector<std::vector<float>> answers(kThreads);
  OnThreads([&](size_t t) {
    const Status status = models[t].Build(DEPUTY_TEST_DIGITS, context);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (status.ok()) answers[t] = Answers(models[t]);
    EXPECT_TRUE(models[t].Placement({{2, 1, 28, 28}}).ok());
    EXPECT_FALSE(context.ShowConfig().empty());
    EXPECT_EQ(context.ConfiguredDelegates().size(), 1u);
  });
  for (const std::vector<float>& answer : answers) EXPECT_EQ(answer, answers[0]);
  EXPECT_EQ(lines.Count("no plugin offers the delegate 'no_such_npu'"), 1u);
}

TEST(SharedContext, CopiesMadeWhileOthersBuildShareWhatIsOpen) {
  const LogLines lines(LogLevel::kDebug);
  const Context context =
      *Context::FromYamlText("t.yaml", "version: 1\nlog: {level: info}\ndelegates: [{name: no_such_npu}]\n");
  Model first;
  ASSERT_TRUE(first.Build(DEPUTY_TEST_DIGITS, context).ok());
  OnThreads([&](size_t) {
    Context copy(context);
    Model model;
    EXPECT_TRUE(model.Build(DEPUTY_TEST_DIGITS, copy).ok());
  });
  EXPECT_EQ(lines.Count("no plugin offers the delegate 'no_such_npu'"), 1u);
}

TEST(SharedContext, ContextsWithLevelsOfTheirOwnAreOpenedAtOnce) {
  const LogLines lines(LogLevel::kDebug);
  OnThreads([&](size_t t) {
    const Context context = *Context::FromYamlText(
        "t.yaml", std::string("version: 1\nlog: {level: ") + (t % 2 == 0 ? "info" : "error") + "}\n");
    Model model;
    ASSERT_TRUE(model.Build(DEPUTY_TEST_DIGITS, context).ok());
    EXPECT_EQ(Answers(model).size(), 20u);
  });
}

// Takes nothing, and from `waits` on does so only when it is released.
class WaitingDelegate final : public sdk::Delegate {
 public:
  sdk::Status Init() override { return sdk::kSuccess; }
  sdk::Status Build(sdk::DelegateModel*) override {
    begun = waits.load();
    if (waits) {
      EXPECT_TRUE(Eventually([&] { return released.load(); }));
    }
    return sdk::kSuccess;
  }
  std::atomic<bool> waits{false}, begun{false}, released{false};
};

TEST(SharedContext, ACompileDelaysNoRunOfAnotherModel) {
  const auto delegate = std::make_shared<WaitingDelegate>();
  Context context = *Context::FromYamlText("t.yaml", "version: 1\n");
  context.AddDelegate(delegate);
  Model model, other;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_DIGITS, context).ok());
  Result<Session> session = model.CreateSession();
  ASSERT_TRUE(session.ok());
  const std::vector<float> expected = Answer(*session, Pictures(2));
  delegate->waits = true;
  std::thread building([&] { EXPECT_TRUE(other.Build(DEPUTY_TEST_MODELS "/relu.onnx", context).ok()); });
  EXPECT_TRUE(Eventually([&] { return delegate->begun.load(); }));
  std::atomic<bool> ended{false};
  std::thread running([&] {
    session->EnableProfiling(true);
    EXPECT_EQ(Answer(*session, Pictures(2)), expected);
    EXPECT_EQ(Answers(model), expected);  // in a session of its own
    ended = true;
  });
  EXPECT_TRUE(Eventually([&] { return ended.load(); }, std::chrono::seconds(20)));
  delegate->released = true;
  running.join();
  building.join();
}

// Compiles once it may.
class SlowDelegate final : public ReluDelegate {
 public:
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    ++compiling;
    EXPECT_TRUE(Eventually([&] { return may_compile.load(); }));
    --compiling;
    return ReluDelegate::Compile(partition);
  }
  std::atomic<bool> may_compile{true};
  std::atomic<int> compiling{0};
};

TEST(SharedContext, ACompilationOfOneModelDelaysNothingOfAnother) {
  const LogLines lines(LogLevel::kOff);
  const auto delegate = std::make_shared<SlowDelegate>();
  Context context;
  context.SetDelegate(delegate);
  Model first, second;
  ASSERT_TRUE(first.Build(DEPUTY_TEST_MODELS "/relu.onnx", context).ok());
  Session session = *first.CreateSession();
  const std::vector<Tensor> inputs = {*Tensor::Allocate(DType::kFloat32, {2, 3})};
  std::vector<Tensor> outputs;
  delegate->may_compile = false;
  std::thread building([&] { EXPECT_TRUE(second.Build(DEPUTY_TEST_MODELS "/relu.onnx", context).ok()); });
  EXPECT_TRUE(Eventually([&] { return delegate->compiling == 1; }));
  // Each of these would wait for the other model.
  EXPECT_TRUE(session.Predict(inputs, &outputs).ok());
  EXPECT_TRUE(first.CreateSession().ok());
  EXPECT_TRUE(first.Placement().ok());
  EXPECT_FALSE(first.Health().degraded);
  session.EnableProfiling(true);
  EXPECT_TRUE(session.Predict(inputs, &outputs).ok());
  EXPECT_EQ(delegate->compiling, 1);
  delegate->may_compile = true;
  building.join();
}

// What the sink refers to may be destroyed as soon as SetLogSink has returned, which waits for the call of the sink.
TEST(LogSink, ASinkThatWasReplacedIsNotRunningAnyMore) {
  const auto quiet = [](LogLevel, std::string_view, std::string_view) {};
  SetLogSink(quiet);
  const pid_t replacing = gettid();
  std::atomic<bool> done{false};
  std::thread logging([&] {
    const Context context;
    while (!done) {
      Model model;
      EXPECT_FALSE(model.Build(nullptr, 0, ModelType::kAuto, context).ok());
      EXPECT_TRUE(model.Build(DEPUTY_TEST_MODELS "/relu.onnx", context).ok());
    }
  });
  for (int round = 0; round < 50; ++round) {
    auto text = std::make_unique<std::string>();
    std::atomic<bool> called{false}, replaced{false};
    SetLogSink([&](LogLevel, std::string_view, std::string_view message) {
      const bool is_first = !called.exchange(true);
      EXPECT_TRUE(!is_first || Eventually([&] { return replaced || IsAsleep(replacing); }));
      EXPECT_FALSE(replaced);
      text->append(message);
    });
    while (!called) std::this_thread::yield();
    SetLogSink(quiet);
    replaced = true;
    text.reset();
  }
  done = true;
  logging.join();
  SetLogSink(nullptr);
}

TEST(LogSink, ASinkMayReplaceItself) {
  std::atomic<int> calls{0};
  SetLogSink([&](LogLevel, std::string_view, std::string_view) {
    ++calls;
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  });
  Model model;
  EXPECT_TRUE(model.Build(DEPUTY_TEST_MODELS "/relu.onnx", *Context::FromYamlText("t", "version: 1\n")).ok());
  EXPECT_EQ(calls, 1);
  SetLogSink(nullptr);
}

}  // namespace
}  // namespace deputy
