// What applications do to sessions and to the process beneath them, while plugins run in their process and in workers.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/process_state.hpp"
#include "support/relu_delegate.hpp"
#include "support/temp_folder.hpp"
#include "support/waiting.hpp"

namespace {
bool is_forked = false;  // this process
}

#if defined(__SANITIZE_ADDRESS__)
// In a process that was forked, what only stacks of the other threads held seems to be lost.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return is_forked ? 1 : 0; }
#endif

namespace deputy {
namespace {

const std::string kRelu = DEPUTY_TEST_MODELS "/relu.onnx";  // x float32 [2,3] -> y

// `entry`: the name of a delegate and its settings; `plugins`: settings of the plugins.
Context WithPlugin(const std::string& entry, const std::string& plugins = "paths: [" DEPUTY_TEST_FIXTURES "]") {
  Result<Context> context = Context::FromYamlText(
      "t.yaml", "version: 1\nplugins: {" + plugins + "}\ncache: {dir: 'off'}\ndelegates: [{name: " + entry + "}]\n");
  EXPECT_TRUE(context.ok()) << context.status().ToString();
  return *std::move(context);
}

Model Built(const std::string& path, const Context& context) {
  Model model;
  const Status status = model.Build(path, context);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

Session SessionOf(const Model& model) {
  Result<Session> session = model.CreateSession();
  EXPECT_TRUE(session.ok()) << session.status().ToString();
  return *std::move(session);
}

Tensor Numbers(std::vector<float> values) {
  Tensor tensor = *Tensor::Allocate(DType::kFloat32, {2, 3});
  std::copy(values.begin(), values.end(), tensor.mutable_values<float>().begin());
  return tensor;
}

const std::vector<float> kAnswer = {1, 0, 3, 0, 5, 0};
Tensor Input() { return Numbers({1, -2, 3, -4, 5, -6}); }

class ApplicationFaults : public testing::TestWithParam<const char*> {
 protected:
  ~ApplicationFaults() override { EXPECT_TRUE(ChildProcesses().empty()); }
  const LogLines log_{LogLevel::kInfo};
};

TEST_P(ApplicationFaults, R153_SessionsThatAreOpenedAndClosedLeaveNothing) {
  ProcessState first;
  {
    const Context context = WithPlugin(GetParam());
    const Model model = Built(kRelu, context);
    for (int i = 0; i < 500; ++i) {
      if (i == 50) first = StateOfThisProcess();
      Session session = SessionOf(model);
      ASSERT_EQ(Answer(session, Input()), kAnswer);
    }
    const ProcessState last = StateOfThisProcess();
    EXPECT_EQ(last.descriptors, first.descriptors);
    EXPECT_EQ(last.threads, first.threads);
    EXPECT_EQ(last.children, first.children);
    EXPECT_LT(last.resident_kilobytes, first.resident_kilobytes + 2048);
  }
}

TEST_P(ApplicationFaults, R123_AnInputThatChangesDuringARunChangesThatRunOnly) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer reports the data race of the application, which is the case";
#endif
  const Context context = WithPlugin(GetParam());
  const Model model = Built(kRelu, context);
  Session session = SessionOf(model);
  Tensor input = Input();
  std::atomic<bool> ended{false};
  std::thread writer([&] {
    const std::span<float> values = input.mutable_values<float>();
    for (float next = 0; !ended; next += 1)
      for (float& value : values) reinterpret_cast<std::atomic<float>&>(value).store(next, std::memory_order_relaxed);
  });
  for (int run = 0; run < 200; ++run) {
    std::vector<Tensor> outputs;
    ASSERT_TRUE(session.Predict({input}, &outputs).ok());
    for (const float value : Values(outputs[0])) EXPECT_GE(value, 0);
  }
  ended = true;
  writer.join();
  EXPECT_EQ(Answer(session, Input()), kAnswer);
}

TEST_P(ApplicationFaults, R124_AForkedChildGetsAnErrorAndTheParentGoesOn) {
  const Context context = WithPlugin(GetParam());
  const Model model = Built(kRelu, context);
  auto session = std::make_unique<Session>(SessionOf(model));
  ASSERT_EQ(Answer(*session, Input()), kAnswer);
  for (int child = 0; child < 3; ++child) {
    const pid_t forked = fork();
    if (forked == 0) {
      is_forked = true;
      alarm(20);
      std::vector<Tensor> outputs;
      const Status run = session->Predict({Input()}, &outputs);
      Model another;
      const Status built = another.Build(kRelu, context);
      const bool refused = run.code() == StatusCode::kFailedPrecondition &&
                           built.code() == StatusCode::kFailedPrecondition &&
                           run.ToString().find("fork") != std::string::npos;
      // Children end in every way that programs end.
      if (child == 0) session.reset();
      if (child == 1) _exit(refused ? 0 : 1);
      exit(refused ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(forked, &status, 0), forked);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << child << ": " << status;
    EXPECT_EQ(Answer(*session, Input()), kAnswer);
  }
  EXPECT_EQ(log_.Count("was started again"), 0u) << log_.text();
}

TEST_P(ApplicationFaults, R125_HandlersOfSignalsInterruptNoRun) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};  // without SA_RESTART
  sigaction(SIGALRM, &action, &before);
  const itimerval each{{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &each, nullptr);
  for (int round = 0; round < 10; ++round) {
    const Context context = WithPlugin(GetParam());
    const Model model = Built(kRelu, context);
    Session session = SessionOf(model);
    for (int run = 0; run < 50; ++run) EXPECT_EQ(Answer(session, Input()), kAnswer);
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(log_.Count("was started again"), 0u) << log_.text();
}

INSTANTIATE_TEST_SUITE_P(Modes, ApplicationFaults, testing::Values("good, isolation: none", "good, isolation: process"),
                         [](const auto& mode) {
                           return std::string(mode.param).find("none") != std::string::npos ? "InProcess" : "Isolated";
                         });

TEST(ApplicationFault, R120_ASessionIsDestroyedDuringItsRun) {
  const LogLines log(LogLevel::kInfo);
  std::atomic<size_t> in_process{0};
  const auto hooks = std::make_shared<ReluHooks>();
  hooks->on_execute = [&, destroying = gettid()](const sdk::RunArgs&) {
    ++in_process;
    EXPECT_TRUE(Eventually([&] { return IsAsleep(destroying); }));
    return sdk::Status();
  };
  Context of_delegate;
  of_delegate.SetDelegate(std::make_shared<ReluDelegate>(hooks));
  const auto destroy_during_run = [](const Context& context, const std::function<bool()>& has_begun) {
    const Model model = Built(kRelu, context);
    auto session = std::make_unique<Session>(SessionOf(model));
    std::thread run([raw = session.get()] {
      std::vector<Tensor> outputs;
      (void)raw->Predict({Input()}, &outputs);
    });
    while (!has_begun()) std::this_thread::yield();
    session.reset();  // cancels the run and waits for it
    run.join();
  };
  for (size_t round = 1; round <= 3; ++round) {
    destroy_during_run(WithPlugin("hangs_in_execute, isolation: process, timeout: 300ms"),
                       [&] { return log.Count("hangs now") == round; });
    destroy_during_run(of_delegate, [&] { return in_process == round; });
  }
  EXPECT_TRUE(ChildProcesses().empty());
}

TEST(ApplicationFault, ASecondThreadOfASessionIsRefused) {
  const LogLines log(LogLevel::kInfo);
  const Context context = WithPlugin("hangs_in_execute, isolation: process, timeout: 1s");
  const Model model = Built(kRelu, context);
  Session session = SessionOf(model);
  std::thread first([&] { EXPECT_EQ(Answer(session, Input()), kAnswer); });  // by the CPU, after the limit
  EXPECT_TRUE(Eventually([&] { return log.Count("hangs now") >= 1; }));
  std::vector<Tensor> outputs;
  const Status refused = session.Predict({Input()}, &outputs);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.ToString().find("another thread uses the session"), std::string::npos) << refused.ToString();
  first.join();
  EXPECT_EQ(Answer(session, Input()), kAnswer);
}

TEST_P(ApplicationFaults, R97_ContextsOfTwoThreadsStartOnePluginAtOnce) {
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> ready{0}, right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        ++ready;
        while (ready != 4) std::this_thread::yield();
        const Context context = WithPlugin(GetParam());
        const Model model = Built(kRelu, context);
        Session session = SessionOf(model);
        if (Answer(session, Input()) == kAnswer) ++right;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, 4);
  }
  // The plugin was shut down with its last context; another one starts it again.
  const Context context = WithPlugin(GetParam());
  const Model model = Built(kRelu, context);
  Session session = SessionOf(model);
  EXPECT_EQ(Answer(session, Input()), kAnswer);
  const Result<PlacementReport> placement = session.Placement();
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(placement->partitions.at(0).delegate, "good");
}

// Delegate of the one node, and whether the answer is right.
std::string RunOnce(const Context& context) {
  const Model model = Built(kRelu, context);
  Session session = SessionOf(model);
  EXPECT_EQ(Answer(session, Input()), kAnswer);
  const Result<PlacementReport> placement = session.Placement();
  return placement.ok() ? placement->partitions.at(0).delegate : placement.status().ToString();
}

TEST(ApplicationFault, R93_AnInitThatFailedIsTriedAgainForTheNextContext) {
  for (const std::string isolation : {"none", "process"}) {
    SCOPED_TRACE(isolation);
    const LogLines log(LogLevel::kInfo);
    const host::TempFolder folder;
    setenv("FIXTURE_ONCE", (folder.path() / "once").c_str(), 1);
    setenv("FIXTURE_FAULT", "init:refuse", 1);
    const auto open = [&](const std::string& more) {
      return WithPlugin("misbehaves, isolation: " + isolation + more,
                        "paths: [" DEPUTY_TEST_FIXTURES "], sandbox: false");
    };
    const Context first = open("");
    EXPECT_EQ(RunOnce(first), "cpu");
    EXPECT_EQ(log.Count("the device starts"), 1u) << log.text();
    const Context second = open(", required: true");
    EXPECT_EQ(RunOnce(second), "misbehaves");
    EXPECT_EQ(RunOnce(first), "cpu") << "what a context has is not changed by another";
    EXPECT_EQ(log.Count("the device starts"), 1u) << log.text();
    unsetenv("FIXTURE_FAULT");
    unsetenv("FIXTURE_ONCE");
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which map terabytes
TEST(ApplicationFault, R94_APluginThatLosesMemoryCostsAWorkerAndNoAnswer) {
  const LogLines log(LogLevel::kInfo);
  setenv("FIXTURE_FAULT", "execute:leak", 1);
  {
    const Context context = WithPlugin("misbehaves, isolation: process, memory_limit: 256MB");
    const Model model = Built(kRelu, context);
    Session session = SessionOf(model);
    for (int run = 0; run < 40; ++run) EXPECT_EQ(Answer(session, Input()), kAnswer);  // 16 MB each
  }
  unsetenv("FIXTURE_FAULT");
  EXPECT_GE(log.Count("was started again"), 1u) << log.text();
}
#endif

TEST(ApplicationFault, R95_ALongjmpIntoACallThatHasReturnedEndsTheWorkerAlone) {
  const LogLines log(LogLevel::kInfo);
  setenv("FIXTURE_FAULT", "execute:longjmp", 1);
  {
    const Context context = WithPlugin("misbehaves, isolation: process, timeout: 2s");
    const Model model = Built(kRelu, context);
    Session session = SessionOf(model);
    for (int run = 0; run < 3; ++run) EXPECT_EQ(Answer(session, Input()), kAnswer);
  }
  unsetenv("FIXTURE_FAULT");
  EXPECT_GE(log.Count("its worker process"), 1u) << log.text();
}

TEST(ApplicationFault, R130_AWorkerIsNotStartedAgainFromAFileThatWasReplaced) {
  const LogLines log(LogLevel::kInfo);
  const host::TempFolder folder;
  const std::filesystem::path file = folder.path() / "good.so";
  std::filesystem::copy(DEPUTY_TEST_FIXTURES "/good.so", file);
  const Context context = WithPlugin("good, isolation: process", "paths: [" + folder.path().string() + "]");
  const Model model = Built(kRelu, context);
  Session session = SessionOf(model);
  ASSERT_EQ(Answer(session, Input()), kAnswer);
  std::filesystem::copy(DEPUTY_TEST_FIXTURES "/wrong_values.so", folder.path() / "new.so");
  std::filesystem::rename(folder.path() / "new.so", file);
  ASSERT_EQ(Answer(session, Input()), kAnswer);  // what runs goes on
  for (const pid_t worker : ChildProcesses()) kill(worker, SIGKILL);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(Answer(session, Input()), kAnswer);
  EXPECT_TRUE(ChildProcesses().empty());
  EXPECT_EQ(log.Count("was started again"), 0u) << log.text();
  EXPECT_GE(log.Count("is no longer the file that was checked"), 1u) << log.text();
}

// x, y float32 [64,65] -> z, broadcast; with weights, and two Relus.
std::vector<std::vector<float>> SmallAnswers(const Context& context) {
  const Model model = Built(DEPUTY_TEST_MODELS "/small.onnx", context);
  Session session = SessionOf(model);
  std::vector<Tensor> inputs, outputs;
  for (int input = 0; input < 2; ++input) {
    inputs.push_back(*Tensor::Allocate(DType::kFloat32, {64, 65}));
    float next = static_cast<float>(input);
    for (float& value : inputs.back().mutable_values<float>()) value = std::fmod(next += 0.37f, 2.0f) - 1;
  }
  std::vector<std::vector<float>> answers;
  for (int run = 0; run < 3; ++run) {
    const Status status = session.Predict(inputs, &outputs);
    EXPECT_TRUE(status.ok()) << status.ToString();
    for (const Tensor& output : outputs) answers.push_back(Values(output));
  }
  return answers;
}

// A worker has constants of its own, or maps them for reading alone.
TEST(ApplicationFault, R104_APluginChangesNoConstants) {
  const LogLines log(LogLevel::kOff);
  const std::vector<std::vector<float>> wanted = SmallAnswers(WithPlugin("no_such, enabled: false"));
  setenv("FIXTURE_FAULT", "execute:write_constant", 1);
  EXPECT_EQ(SmallAnswers(WithPlugin("misbehaves, isolation: process")), wanted);
  // In this process the fixture does change them.
  EXPECT_NE(SmallAnswers(WithPlugin("misbehaves, isolation: none")), wanted);
  unsetenv("FIXTURE_FAULT");
}

TEST(ApplicationFault, R109_AWorkerThatWritesLateChangesNoAnswer) {
  const Context context = WithPlugin("writes_late, isolation: process");
  const Model model = Built(kRelu, context);
  Session session = SessionOf(model);
  EXPECT_TRUE(Eventually([] { return ChildProcesses().size() == 1; })) << "processes that only probed end";
  const auto threads = [] {
    ptrdiff_t count = 0;
    for (const pid_t worker : ChildProcesses()) {
      std::error_code ended;  // by what its threads wrote
      count += std::distance(std::filesystem::directory_iterator("/proc/" + std::to_string(worker) + "/task", ended),
                             std::filesystem::directory_iterator());
    }
    return count;
  };
  const auto before = threads();
  std::vector<std::vector<Tensor>> kept;
  for (int run = 0; run < 5; ++run) {
    std::vector<Tensor>& outputs = kept.emplace_back();
    ASSERT_TRUE(session.Predict({Input()}, &outputs).ok());
    EXPECT_EQ(Values(outputs[0]), kAnswer);
  }
  EXPECT_TRUE(Eventually([&] { return threads() == before; })) << "those that write end then";
  for (const std::vector<Tensor>& outputs : kept) EXPECT_EQ(Values(outputs[0]), kAnswer);
}

TEST(ApplicationFault, R64_ADeviceThatIsInUseIsAbsentForASecondEntry) {
  const LogLines log(LogLevel::kInfo);
  for (const std::string isolation : {"none", "process"}) {
    const host::TempFolder folder;
    setenv("FIXTURE_DEVICE", (folder.path() / "device").c_str(), 1);
    const std::string settings = ", delegate: exclusive, isolation: " + isolation;
    const Context context = WithPlugin("first" + settings + "}, {name: second" + settings,
                                       "paths: [" DEPUTY_TEST_FIXTURES "], sandbox: false");
    const Model model = Built(kRelu, context);
    Session session = SessionOf(model);
    EXPECT_EQ(Answer(session, Input()), kAnswer);
    const Result<PlacementReport> placement = session.Placement();
    ASSERT_TRUE(placement.ok());
    EXPECT_EQ(placement->partitions.at(0).delegate, "first");
    unsetenv("FIXTURE_DEVICE");
  }
  EXPECT_EQ(log.Count("the device is in use"), 2u) << log.text();
}

TEST(ApplicationFault, R131_AnInputThatEndsTheWorkerCostsOtherContentsNothing) {
  const LogLines log(LogLevel::kInfo);
  setenv("FIXTURE_FAULT", "poisoned:segv", 1);
  {
    const Context context = WithPlugin("misbehaves, isolation: process");
    const Model first = Built(kRelu, context), second = Built(DEPUTY_TEST_MODELS "/small.onnx", context);
    Session poisoned = SessionOf(first), other = SessionOf(second);
    for (int run = 0; run < 4; ++run)
      EXPECT_EQ(Answer(poisoned, Numbers({666, -2, 3, -4, 5, -6})), (std::vector<float>{666, 0, 3, 0, 5, 0}));
    const Result<PlacementReport> placement = other.Placement();
    ASSERT_TRUE(placement.ok());
    std::vector<Tensor> outputs;
    // Of other extents, so its partitions are of another content.
    const Tensor zeros =
        Tensor::FromValues<float>(DType::kFloat32, {64, 65}, std::vector<float>(size_t{64} * 65, 0.0f)).value();
    ASSERT_TRUE(other.Predict({zeros, zeros}, &outputs).ok());
    const HealthReport health = context.Health();
    ASSERT_EQ(health.delegates.size(), 1u);
    EXPECT_TRUE(health.delegates[0].available);
    EXPECT_EQ(health.delegates[0].demoted_partitions, 1u);
    EXPECT_EQ(health.delegates[0].failures, 2u);
    EXPECT_EQ(log.Count("quarantined"), 0u) << log.text();
  }
  unsetenv("FIXTURE_FAULT");
  EXPECT_TRUE(ChildProcesses().empty());
}

}  // namespace
}  // namespace deputy
