// Runs of a worker process whose inputs are in memory that it maps, and processes that end at any moment of a run.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "plugin/discovery/registry.hpp"
#include "support/process_state.hpp"
#include "support/waiting.hpp"
#include "support/worker_killer.hpp"
#include "unit/isolation/plugged.hpp"

namespace deputy::host::testing {
namespace {

// Of other sizes than all else that the worker maps.
constexpr size_t kElements = 300001, kValueBytes = kElements * sizeof(float);

class SharedInputs : public ::testing::Test {
 protected:
  void SetUp() override { Start({}); }
  void Start(RemotePluginOptions options) {
    options.arenas = arenas_;
    options.sandbox = false;  // whose process does not let its user read its mappings
    remote_ = Remote(EverySlotPath(), options);
    ASSERT_NE(remote_, nullptr);
    plugged_ = std::make_unique<Plugged>(remote_->table());
    ASSERT_EQ(plugged_->Open(instance_).message, "");
    ASSERT_EQ(plugged_->Compile(instance_, executable_).message, "");
    ASSERT_EQ(plugged_->CreateContext(executable_, context_).message, "");
  }
  void TearDown() override { Stop(); }
  void Stop() {
    if (context_ != nullptr) plugged_->delegate->context_destroy(context_);
    if (executable_ != nullptr) plugged_->delegate->executable_destroy(executable_);
    if (instance_ != nullptr) plugged_->delegate->close(instance_);
    context_ = nullptr;
    executable_ = nullptr;
    instance_ = nullptr;
    plugged_.reset();
    remote_.reset();
    EXPECT_TRUE(ChildProcesses().empty());
  }

  std::shared_ptr<float> Shared() {
    const std::shared_ptr<uint8_t> memory = arenas_->Allocate(kValueBytes);
    const std::shared_ptr<float> values(memory, reinterpret_cast<float*>(memory.get()));
    for (size_t i = 0; i < kElements; ++i) values.get()[i] = static_cast<float>(i % 1000);
    return values;
  }
  bool RunsOn(const float* from) {
    std::vector<float> values(kElements, -1);
    const Failed failed = plugged_->Run(context_, values, kNormal, 1, from);
    EXPECT_EQ(failed.message, "");
    for (size_t i = 0; i < kElements; ++i)
      if (values[i] != 2 * from[i]) return false;
    return true;
  }
  // Mappings of the worker: those of at least kValueBytes, by their rights.
  std::vector<std::string> Mappings() const {
    std::ifstream maps("/proc/" + std::to_string(ChildProcesses().front()) + "/maps");
    std::vector<std::string> rights;
    for (std::string line; std::getline(maps, line);) {
      unsigned long begin = 0, end = 0;
      char right[5] = {};
      std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, right);
      if (end - begin >= kValueBytes && line.find("memfd:deputy") != std::string::npos) rights.emplace_back(right);
    }
    std::sort(rights.begin(), rights.end());
    return rights;
  }

  const std::shared_ptr<SharedArenas> arenas_ = SharedArenas::Make();
  std::shared_ptr<RemotePlugin> remote_;
  std::unique_ptr<Plugged> plugged_;
  deputy_instance* instance_ = nullptr;
  deputy_executable* executable_ = nullptr;
  deputy_context* context_ = nullptr;
};

TEST_F(SharedInputs, AreMappedOnceForReadingAlone) {
  const std::shared_ptr<float> values = Shared();
  for (int run = 0; run < 3; ++run) EXPECT_TRUE(RunsOn(values.get()));
  // The other one is the channel's, with the output.
  EXPECT_EQ(Mappings(), (std::vector<std::string>{"r--s", "rw-s"}));
  values.get()[1] = 77;
  EXPECT_TRUE(RunsOn(values.get()));
}

TEST_F(SharedInputs, AreUnmappedWhenTheHostFreesThem) {
  for (int round = 0; round < 20; ++round) {
    std::shared_ptr<float> values = Shared();
    EXPECT_TRUE(RunsOn(values.get()));
    values.reset();
  }
  (void)Eventually([&] { return Mappings().size() == 1; });
  EXPECT_EQ(Mappings(), std::vector<std::string>{"rw-s"});
}

TEST_F(SharedInputs, OtherMemoryIsCopied) {
  const std::vector<float> values(kElements, 5);
  EXPECT_TRUE(RunsOn(values.data()));
  EXPECT_EQ(Mappings(), std::vector<std::string>{"rw-s"});
}

TEST_F(SharedInputs, SessionsThatBeginWithOneTensorAtOnceGetItsValues) {
  const std::shared_ptr<float> values = Shared();
  std::atomic<int> wrong{0};
  std::vector<std::thread> sessions;
  for (int session = 0; session < 6; ++session)
    sessions.emplace_back([&] {
      deputy_context* context = nullptr;
      if (plugged_->CreateContext(executable_, context).code != DEPUTY_OK) ++wrong;
      for (int run = 0; run < 5; ++run) {
        std::vector<float> out(1000, -1);
        if (plugged_->Run(context, out, kNormal, 1, values.get() + 1000 * run).code != DEPUTY_OK) ++wrong;
        for (size_t i = 0; i < out.size(); ++i) wrong += out[i] != 2 * static_cast<float>(i) ? 1 : 0;
      }
      plugged_->delegate->context_destroy(context);
    });
  for (std::thread& session : sessions) session.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(Mappings().size(), 1u + 6u);
}

// With and without sleeping, over many moments of a run.
TEST_F(SharedInputs, WorkerThatIsKilledAtAnyMomentIsALostDevice) {
  std::minstd_rand random(4711);
  for (const int spin : {0, 50}) {
    for (int round = 0; round < 15; ++round) {
      Stop();
      RemotePluginOptions options;
      options.spin = std::chrono::microseconds(spin);
      Start(options);
      const WorkerKiller killer(std::chrono::microseconds(random() % 3000));
      Failed failed;
      std::vector<float> values;
      for (float run = 1; failed.code == DEPUTY_OK; ++run) {
        values.assign(4, run);
        failed = plugged_->Run(context_, values);
        if (failed.code == DEPUTY_OK) {
          EXPECT_EQ(values, std::vector<float>(4, 2 * run));
        }
      }
      EXPECT_EQ(failed.code, DEPUTY_DEVICE_LOST);
      EXPECT_EQ(failed.message, "its worker process was ended by SIGKILL");
    }
  }
}

// Stops every thread of a process, and waits until all of them are.
void Halt(pid_t process) {
  kill(process, SIGSTOP);
  const std::string threads = "/proc/" + std::to_string(process) + "/task/";
  for (const std::string& thread : FilesIn(threads))
    for (std::string number, name, state; state != "T";)
      std::ifstream(threads + thread + "/stat") >> number >> name >> state;
}

TEST_F(SharedInputs, WorkerThatIsStoppedIsEndedAtTheLimitOfTheRun) {
  Stop();
  RemotePluginOptions options;
  options.run_timeout = std::chrono::milliseconds(150);
  Start(options);
  std::vector<float> values(4, 1);
  EXPECT_EQ(plugged_->Run(context_, values).message, "");
  Halt(ChildProcesses().front());
  const Failed failed = plugged_->Run(context_, values);
  EXPECT_EQ(failed.code, DEPUTY_DEVICE_LOST);
  EXPECT_EQ(failed.message, "its worker process did not end a run within 150 ms");
}

// One run of a fixture in a worker process, with the host's checks around it.
Status Executed(const std::string& fixture, std::vector<float>& values) {
  const std::shared_ptr<RemotePlugin> remote = Remote(std::filesystem::path(FIXTURE_PLUGINS) / (fixture + ".so"));
  PluginRegistry registry;
  DEPUTY_RETURN_IF_ERROR(registry.AddInProcess(remote->table(), remote));
  OpenRequest request;
  request.delegate = request.name = fixture;
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<Delegate> opened, registry.Open(request));
  const Graph graph = TestGraph({{"first", "Relu"}, {"second", "Relu"}}).graph;
  DEPUTY_ASSIGN_OR_RETURN(const auto executable, opened->Compile(OfferAll(graph), {{0}, {0}, {1}, nullptr, "far.0"}));
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<ExecutionContext> context, executable->CreateContext());
  std::vector<float> out(values.size(), 9);
  const plain::PlainRun run(values.data(), out.data(), values.size());
  DEPUTY_RETURN_IF_ERROR(context->Execute({run.inputs, run.outputs}));
  values = out;
  return {};
}

// The worker writes to memory of its own, and is given what the outputs hold where that is looked for.
TEST(WorkerRuns, ElementThatIsLeftOutIsFound) {
  std::vector<float> values = {-1, 2, -3, 4};
  const Status status = Executed("leaves_last_element", values);
  EXPECT_NE(status.message().find("was not written in full: 4 of 16 bytes are unchanged, the first at offset 12"),
            std::string::npos)
      << status.ToString();
}

// Its memory is used for something else by then.
TEST(WorkerRuns, GraphOfACallThatHasEndedIsEmpty) {
  std::vector<float> values = {-1, 2, -3, 4};
  const Status status = Executed("uses_old_graph", values);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(values, (std::vector<float>{0, 2, 0, 4}));
}

}  // namespace
}  // namespace deputy::host::testing
