// Every fault of a plugin in every call of it, one after the other in one application: the answer is right, and neither
// a process nor a descriptor, a thread or memory is left. `faults_test --gtest_filter=Chaos.* --gtest_repeat=20`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/process_state.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

constexpr std::string_view kStages[] = {"load",
                                        "query",
                                        "init",
                                        "probe",
                                        "open",
                                        "query_support",
                                        "compile",
                                        "context_create",
                                        "execute",
                                        "parallel",
                                        "context_destroy",
                                        "executable_destroy",
                                        "close",
                                        "shutdown",
                                        "atexit",
                                        "destructor"};
constexpr std::string_view kEnds[] = {"exit", "quick_exit", "_exit", "segv",  "abort",  "fpe",         "bus",
                                      "ill",  "overflow",   "kill",  "close", "garble", "thread_exit", "thread_segv"};
constexpr std::string_view kHangs[] = {"hang", "spin", "stop"};
// Fixtures whose calls fail, or throw, in a way that an application survives in its own process, too.
constexpr std::string_view kFailing[] = {"fails_compile", "fails_execute",   "fails_init", "fails_with_success",
                                         "unknown_code",  "throws_in_query", "throws",     "throws_in_execute",
                                         "unavailable"};

class Chaos : public testing::Test {
 protected:
  static void TearDownTestSuite() { unsetenv("FIXTURE_FAULT"); }

  // Four runs of a session on the plugin, of which each gives the right answer.
  static void RunWith(const std::string& fault, const std::string& isolation, const std::string& name = "misbehaves") {
    SCOPED_TRACE(name + ", " + fault + ", " + isolation);
    setenv("FIXTURE_FAULT", fault.c_str(), 1);
    Result<Context> context = Context::FromYamlText("chaos.yaml", "version: 1\nplugins: {paths: [" DEPUTY_TEST_FIXTURES
                                                                  "]}\ncache: {dir: 'off'}\nlog: {level: error}\n"
                                                                  "delegates: [{name: " +
                                                                      name + ", " + isolation + "}]\n");
    ASSERT_TRUE(context.ok()) << context.status().ToString();
    Model model;
    const Status built = model.Build(DEPUTY_TEST_MODELS "/relu.onnx", *context);
    ASSERT_TRUE(built.ok()) << built.ToString();
    Result<Session> session = model.CreateSession();
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    Tensor input = *Tensor::Allocate(DType::kFloat32, {2, 3});
    for (size_t run = 0; run < 4; ++run) {
      const auto shift = static_cast<float>(run);
      const std::vector<float> x = {1 + shift, -2, 3, -4 - shift, 5, -6};
      std::copy(x.begin(), x.end(), input.mutable_values<float>().begin());
      EXPECT_EQ(Answer(*session, input), (std::vector<float>{1 + shift, 0, 3, 0, 5, 0})) << "run " << run;
    }
  }

  // All stages with these faults; what the first run of an application takes may stay.
  static void Matrix(std::span<const std::string_view> kinds, const std::string& isolation) {
    const LogLines log(LogLevel::kOff);
    RunWith("none:none", isolation);
    for (const std::string_view stage : kStages)
      for (const std::string_view kind : kinds) {
        const ProcessState before = StateOfThisProcess();
        RunWith(std::string(stage) + ":" + std::string(kind), isolation);
        const ProcessState after = Settled(before);
        EXPECT_EQ(after.descriptors, before.descriptors) << stage << ":" << kind;
        EXPECT_LE(after.threads, before.threads) << stage << ":" << kind;
        EXPECT_TRUE(after.children.empty()) << stage << ":" << kind;
      }
  }

  // Workers that were ended are waited for by threads of the host, for a short time.
  static ProcessState Settled(const ProcessState& wanted) {
    ProcessState now;
    (void)Eventually([&] {
      now = StateOfThisProcess();
      return now.threads <= wanted.threads && now.children.empty();
    });
    return now;
  }
};

TEST_F(Chaos, WorkerProcessesThatEnd) { Matrix(kEnds, "isolation: process"); }

TEST_F(Chaos, WorkerProcessesThatHang) { Matrix(kHangs, "isolation: process, timeout: 200ms, call_timeout: 400ms"); }

TEST_F(Chaos, CallsThatFailOrThrow) {
  const LogLines log(LogLevel::kOff);
  for (const std::string isolation : {"isolation: none", "isolation: process"}) {
    RunWith("none:none", isolation);
    const ProcessState before = StateOfThisProcess();
    for (const std::string_view fixture : kFailing) RunWith("none:none", isolation, std::string(fixture));
    const ProcessState after = Settled(before);
    EXPECT_LE(after.descriptors, before.descriptors + (isolation == "isolation: none" ? std::size(kFailing) : 0));
    EXPECT_LE(after.threads, before.threads);
    EXPECT_TRUE(after.children.empty());
  }
}

TEST_F(Chaos, MemoryDoesNotGrow) {
  const LogLines log(LogLevel::kOff);
  constexpr std::string_view kFaults[] = {"none:none", "compile:segv", "execute:abort", "parallel:kill", "close:exit"};
  const auto round = [&] {
    for (const std::string_view fault : kFaults) RunWith(std::string(fault), "isolation: process");
  };
  for (int i = 0; i < 10; ++i) round();
  const uint64_t before = StateOfThisProcess().resident_kilobytes;
  for (int i = 0; i < 20; ++i) round();
  EXPECT_LT(StateOfThisProcess().resident_kilobytes, before + 4096);
}

}  // namespace
}  // namespace deputy
