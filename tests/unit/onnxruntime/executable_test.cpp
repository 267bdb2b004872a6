// Runs of a compiled graph, with an execution provider of the test.
#include "plugins/onnxruntime/own/executable.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "unit/onnxruntime/calls.hpp"

namespace ort::own {
namespace {

bool IsFree(std::mutex& mutex) {
  bool is_free = false;
  std::thread([&] {
    is_free = mutex.try_lock();
    if (is_free) mutex.unlock();
  }).join();
  return is_free;
}

// Keeps what it sees of each run.
struct RecordingEp : Ep {
  RecordingEp() : Ep{} {
    ReleaseNodeComputeInfos = [](Ep*, NodeComputeInfo**, size_t) {};
    OnRunStart = [](Ep* ep, const RunOptions* options) -> Status* {
      const char* mode = Call<const char*>(Slot::GetRunConfigEntry, options, "test.mode");
      static_cast<RecordingEp*>(ep)->modes.emplace_back(mode == nullptr ? "none" : mode);
      static_cast<RecordingEp*>(ep)->was_free = IsFree(OneAtATime());
      return nullptr;
    };
  }
  std::vector<std::string> modes;
  bool was_free = false;
};

class CompiledGraphTest : public testing::Test {
 protected:
  CompiledGraphTest() {
    info_.Compute = [](NodeComputeInfo*, void*, KernelContext*) -> Status* { return nullptr; };
  }
  void Run(const ProviderSettings& settings, std::vector<size_t> power_levels) {
    CompiledGraph compiled(nullptr, nullptr, std::make_shared<Instance>(nullptr, &factory_, &ep_), &info_, sdk::Host(),
                           logger_, "test", settings);
    KernelContext context;
    for (const size_t level : power_levels) EXPECT_EQ(compiled.Compute(context, level).message(), "");
  }

  RecordingEp ep_;
  EpFactory factory_{};
  NodeComputeInfo info_{};
  const Logger logger_;
};

TEST_F(CompiledGraphTest, ThePowerLevelOfARunIsAnEntryOfItsOptions) {
  ProviderSettings settings;
  settings.power_entry = "test.mode";
  Run(settings, {0, 1, 4, 5});
  EXPECT_EQ(ep_.modes, (std::vector<std::string>{"none", "low_power_saver", "burst", "none"}));
}

TEST_F(CompiledGraphTest, WithoutAnEntryThePowerLevelIsNotPassed) {
  Run({}, {4});
  EXPECT_EQ(ep_.modes, std::vector<std::string>{"none"});
}

TEST_F(CompiledGraphTest, RunsOfSerialProvidersHoldTheMutexOfTheProcess) {
  ProviderSettings settings;
  settings.is_serial = true;
  Run(settings, {0});
  EXPECT_FALSE(ep_.was_free);
  settings.is_serial = false;
  Run(settings, {0});
  EXPECT_TRUE(ep_.was_free);
}

}  // namespace
}  // namespace ort::own
