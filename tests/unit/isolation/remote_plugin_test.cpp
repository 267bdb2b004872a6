// Plugins in worker processes: several calls at once, cancellation, workers that end, and what is left behind.
#include "isolation/remote_plugin.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdio>
#include <string_view>
#include <thread>

#include "plugin/discovery/registry.hpp"
#include "support/process_state.hpp"
#include "support/waiting.hpp"
#include "unit/isolation/plugged.hpp"

namespace deputy::host::testing {
namespace {

class RemotePluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RemotePluginOptions options;
    options.sandbox = false;  // whose process lets its user read neither its mappings nor its descriptors
    remote_ = Remote(EverySlotPath(), options);
    ASSERT_NE(remote_, nullptr);
    plugged_ = std::make_unique<Plugged>(remote_->table());
    ASSERT_EQ(plugged_->Open(instance_).message, "");
    ASSERT_EQ(plugged_->Compile(instance_, executable_).message, "");
    ASSERT_EQ(plugged_->CreateContext(executable_, context_).message, "");
  }
  void TearDown() override {
    if (context_ != nullptr) plugged_->delegate->context_destroy(context_);
    if (executable_ != nullptr) plugged_->delegate->executable_destroy(executable_);
    if (instance_ != nullptr) plugged_->delegate->close(instance_);
    plugged_.reset();
    remote_.reset();
    EXPECT_TRUE(ChildProcesses().empty());
  }

  std::shared_ptr<RemotePlugin> remote_;
  std::unique_ptr<Plugged> plugged_;
  deputy_instance* instance_ = nullptr;
  deputy_executable* executable_ = nullptr;
  deputy_context* context_ = nullptr;
};

TEST_F(RemotePluginTest, SessionsRunAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> sessions;
  for (int session = 0; session < 6; ++session)
    sessions.emplace_back([&, session] {
      deputy_context* context = nullptr;
      if (plugged_->CreateContext(executable_, context).code != DEPUTY_OK) ++wrong;
      for (int run = 0; run < 100; ++run) {
        const auto value = static_cast<float>(session * 1000 + run);
        std::vector<float> values(static_cast<size_t>(1 + run * 50), value);
        const Failed failed = plugged_->Run(context, values);
        if (failed.code != DEPUTY_OK || values.front() != 2 * value || values.back() != 2 * value) ++wrong;
      }
      plugged_->delegate->context_destroy(context);
    });
  for (std::thread& session : sessions) session.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(RemotePluginTest, RunThatWaitsIsCancelledFromAnotherThread) {
  std::vector<float> values(4, 1), waiting(4, 1);
  Failed failed;
  std::thread run([&] { failed = plugged_->Run(context_, waiting, kWaits, 17); });
  // Other contexts run meanwhile.
  deputy_context* other = nullptr;
  ASSERT_EQ(plugged_->CreateContext(executable_, other).message, "");
  EXPECT_EQ(plugged_->Run(other, values).message, "");
  plugged_->delegate->context_destroy(other);
  plugged_->delegate->cancel(context_, 17);
  run.join();
  EXPECT_EQ(failed.code, DEPUTY_CANCELLED);
  EXPECT_EQ(failed.message, "the run was cancelled");
  EXPECT_EQ(plugged_->Run(context_, values).message, "");
}

TEST_F(RemotePluginTest, ExceptionsEndInTheWorker) {
  std::vector<float> values(4, 1);
  EXPECT_EQ(plugged_->Run(context_, values, kThrows).code, DEPUTY_INTERNAL);
  EXPECT_EQ(plugged_->Run(context_, values).message, "");
}

TEST_F(RemotePluginTest, WorkerThatDiesInARunIsALostDevice) {
  std::vector<float> values(4, 1);
  const Failed failed = plugged_->Run(context_, values, kDies);
  EXPECT_EQ(failed.code, DEPUTY_DEVICE_LOST);
  EXPECT_EQ(failed.message, "its worker process was ended by SIGABRT");
  EXPECT_EQ(values, std::vector<float>(4, 1));
  EXPECT_EQ(plugged_->Run(context_, values).code, DEPUTY_DEVICE_LOST);
  deputy_executable* executable = nullptr;
  EXPECT_EQ(plugged_->Compile(instance_, executable).code, DEPUTY_DEVICE_LOST);
  EXPECT_EQ(executable, nullptr);
  EXPECT_TRUE(ChildProcesses().empty());
}

// The application collects its children itself: no wait status tells how the worker ended.
class CollectedWorkers : public RemotePluginTest {
 protected:
  CollectedWorkers() : before_(signal(SIGCHLD, SIG_IGN)) {}
  ~CollectedWorkers() override { signal(SIGCHLD, before_); }

 private:
  const sighandler_t before_;
};

TEST_F(CollectedWorkers, R180_AnEndByAnotherProcessIsNoFaultOfThePlugin) {
  const std::vector<pid_t> workers = ChildProcesses();
  ASSERT_EQ(workers.size(), 1u);
  kill(workers.front(), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return remote_->link().has_ended(); }));
  EXPECT_EQ(remote_->link().OwnFault(), "");
  std::vector<float> values(4, 1);
  const Failed failed = plugged_->Run(context_, values);
  EXPECT_EQ(failed.code, DEPUTY_DEVICE_LOST);
  EXPECT_NE(failed.message.find("the application has collected its status"), std::string::npos) << failed.message;
}

TEST_F(CollectedWorkers, R180_ACrashIsAFaultOfThePlugin) {
  std::vector<float> values(4, 1);
  const Failed failed = plugged_->Run(context_, values, kDies);
  EXPECT_EQ(failed.code, DEPUTY_DEVICE_LOST);
  EXPECT_EQ(failed.message, "its worker process was ended by SIGABRT");
  EXPECT_EQ(remote_->link().OwnFault(), "was ended by SIGABRT");
}

// Counts the runs that the plugin says in its log to have begun.
class BegunRuns {
 public:
  BegunRuns() {
    SetLogSink([this](LogLevel, std::string_view, std::string_view message) {
      if (message.find("deputy_delegate.execute ") != std::string_view::npos) ++count_;
    });
    SetLogLevel(LogLevel::kInfo);
  }
  ~BegunRuns() {
    SetLogLevel(LogLevel::kOff);
    SetLogSink(nullptr);
  }
  BegunRuns(const BegunRuns&) = delete;
  BegunRuns& operator=(const BegunRuns&) = delete;

  size_t count() const { return count_; }

 private:
  std::atomic<size_t> count_{0};
};

TEST_F(RemotePluginTest, WorkerThatIsKilledEndsAllCallsInProgress) {
  const BegunRuns begun;
  std::vector<Failed> failed(4);
  std::vector<deputy_context*> contexts(4, nullptr);
  std::vector<std::thread> runs;
  for (size_t i = 0; i < failed.size(); ++i) {
    ASSERT_EQ(plugged_->CreateContext(executable_, contexts[i]).message, "");
    runs.emplace_back([&, i] {
      std::vector<float> values(4, 1);
      failed[i] = plugged_->Run(contexts[i], values, kWaits);
    });
  }
  const std::vector<pid_t> workers = ChildProcesses();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_TRUE(Eventually([&] { return begun.count() == failed.size(); }));
  kill(workers.front(), SIGKILL);
  for (std::thread& run : runs) run.join();
  for (const Failed& one : failed) {
    EXPECT_EQ(one.code, DEPUTY_DEVICE_LOST);
    EXPECT_NE(one.message.find("was ended by SIGKILL"), std::string::npos) << one.message;
  }
  for (deputy_context* context : contexts) plugged_->delegate->context_destroy(context);
}

TEST_F(RemotePluginTest, NothingGrowsOverRoundsOfOpenAndClose) {
  const std::vector<pid_t> workers = ChildProcesses();
  ASSERT_EQ(workers.size(), 1u);
  const std::string descriptors = "/proc/" + std::to_string(workers.front()) + "/fd";
  size_t here = 0, there = 0;
  uint64_t resident = 0;
  for (int round = 0; round < 200; ++round) {
    deputy_instance* instance = nullptr;
    deputy_executable* executable = nullptr;
    deputy_context* context = nullptr;
    ASSERT_EQ(plugged_->Open(instance).message, "");
    ASSERT_EQ(plugged_->Compile(instance, executable).message, "");
    ASSERT_EQ(plugged_->CreateContext(executable, context).message, "");
    std::vector<float> values(1000, 1);
    ASSERT_EQ(plugged_->Run(context, values).message, "");
    plugged_->delegate->context_destroy(context);
    plugged_->delegate->executable_destroy(executable);
    plugged_->delegate->close(instance);
    if (round == 20) {
      here = OpenDescriptors();
      there = FilesIn(descriptors).size();
      resident = ResidentKilobytes(std::to_string(workers.front()));
    }
  }
  EXPECT_EQ(OpenDescriptors(), here);
  EXPECT_EQ(FilesIn(descriptors).size(), there);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what is freed
  EXPECT_LT(ResidentKilobytes(std::to_string(workers.front())), resident + 512);
#else
  EXPECT_GT(resident, 0u);
#endif
}

TEST_F(RemotePluginTest, CallWithoutADescriptorLeftFailsAndTheWorkerLives) {
  Failed failed;
  plugged_->during_compile = [&] {  // which has the one channel
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{0, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    deputy_context* context = nullptr;
    failed = plugged_->CreateContext(executable_, context);
    setrlimit(RLIMIT_NOFILE, &limit);
  };
  deputy_executable* executable = nullptr;
  EXPECT_EQ(plugged_->Compile(instance_, executable).message, "");
  EXPECT_EQ(failed.code, DEPUTY_OUT_OF_MEMORY) << failed.message;
  plugged_->delegate->executable_destroy(executable);
  std::vector<float> values(4, 1);
  EXPECT_EQ(plugged_->Run(context_, values).message, "");
}

// Mappings of the constant in the worker.
size_t Weights(pid_t worker) {
  std::ifstream maps("/proc/" + std::to_string(worker) + "/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    std::sscanf(line.c_str(), "%lx-%lx", &begin, &end);
    count += end - begin == kWeights && line.find("memfd:deputy") != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST_F(RemotePluginTest, ConstantIsInTheWorkerOnceAsLongAsAnExecutableNeedsIt) {
  const pid_t worker = ChildProcesses().front();
  EXPECT_EQ(Weights(worker), 1u);
  std::vector<deputy_executable*> executables(20, nullptr);
  for (deputy_executable*& executable : executables) ASSERT_EQ(plugged_->Compile(instance_, executable).message, "");
  EXPECT_EQ(Weights(worker), 1u);
  for (deputy_executable* executable : executables) plugged_->delegate->executable_destroy(executable);
  EXPECT_EQ(Weights(worker), 1u);
  plugged_->delegate->context_destroy(std::exchange(context_, nullptr));
  plugged_->delegate->executable_destroy(std::exchange(executable_, nullptr));
  EXPECT_EQ(Weights(worker), 0u);
}

TEST(RemotePlugin, LeavesNothingBehind) {
  const size_t before = OpenDescriptors();
  for (int round = 0; round < 30; ++round) {
    const std::shared_ptr<RemotePlugin> remote = Remote(EverySlotPath());
    ASSERT_NE(remote, nullptr);
    const Plugged plugged(remote->table());
    deputy_instance* instance = nullptr;
    ASSERT_EQ(plugged.Open(instance).message, "");
    plugged.delegate->close(instance);
  }
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_TRUE(ChildProcesses().empty());
}

// As the registry takes it, with all checks of the host around it.
TEST(RemotePlugin, IsAPluginOfTheRegistry) {
  const std::shared_ptr<RemotePlugin> remote = Remote(std::filesystem::path(FIXTURE_PLUGINS) / "good.so");
  ASSERT_NE(remote, nullptr);
  PluginRegistry registry;
  const Status added = registry.AddInProcess(remote->table(), remote);
  ASSERT_TRUE(added.ok()) << added.ToString();
  OpenRequest request;
  request.delegate = "good";
  request.name = "far";
  const Result<std::unique_ptr<Delegate>> opened = registry.Open(request);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const Graph graph = TestGraph({{"first", "Relu"}, {"second", "Sigmoid"}}).graph;
  const GraphView view = OfferAll(graph);
  std::vector<Verdict> verdicts;
  ASSERT_TRUE((*opened)->QuerySupport(view, verdicts).ok());
  EXPECT_EQ(verdicts[0].reason, Reason::kSupported);
  EXPECT_EQ(verdicts[1].detail, "this delegate runs Relu of float32 alone");
  const auto executable = (*opened)->Compile(view, {{0}, {0}, {1}, nullptr, "far.0"});
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  const auto context = (*executable)->CreateContext();
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  float in[] = {-1, 2, -3, 4}, out[] = {9, 9, 9, 9};
  const int64_t four = 4;
  deputy_tensor input{}, output{};
  input.struct_size = sizeof input;
  input.dtype = DEPUTY_DTYPE_FLOAT32;
  input.rank = 1;
  input.dims = &four;
  input.byte_size = sizeof in;
  output = input;
  input.data = in;
  output.data = out;
  const deputy_tensor* const inputs[] = {&input};
  deputy_tensor* const outputs[] = {&output};
  for (int run = 0; run < 3; ++run) {
    const Status status = (*context)->Execute({inputs, outputs});
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{0, 2, 0, 4}));
  }
}

TEST(RemotePlugin, WorkerEndsWithTheProcessThatStartedIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const std::shared_ptr<RemotePlugin> remote = Remote(EverySlotPath());
    const pid_t worker = ChildProcesses().front();
    (void)!write(ends[1], &worker, sizeof worker);
    raise(SIGKILL);
  }
  pid_t worker = 0;
  ASSERT_EQ(read(ends[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  waitpid(parent, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  // Its number is kept until init collects it.
  const auto gone = [&] {
    std::ifstream stat("/proc/" + std::to_string(worker) + "/stat");
    std::string number, name, state;
    return !(stat >> number >> name >> state) || state == "Z" || state == "X";
  };
  EXPECT_TRUE(Eventually(gone));
}

TEST(RemotePlugin, FileThatIsNoPluginIsRefusedWithItsReason) {
  RemotePluginOptions options;
  options.worker = DEPUTY_WORKER;
  options.file = "/proc/self/exe";
  const auto plugin = RemotePlugin::Start(options);
  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.status().code(), StatusCode::kPlugin) << plugin.status().ToString();
  options.worker = "/nowhere/deputy-worker";
  EXPECT_EQ(RemotePlugin::Start(options).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(ChildProcesses().empty());
}

}  // namespace
}  // namespace deputy::host::testing
