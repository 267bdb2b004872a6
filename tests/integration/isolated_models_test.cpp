// The digits model on in-tree plugins that worker processes serve, through the public API: the same answers, bit by
// bit, as in process; also by several sessions at once, and after the worker was killed.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/process_state.hpp"

#if defined(__SANITIZE_ADDRESS__)
// LeakSanitizer of GCC 12 ends with signal 11 where it follows the thread-local variables of oneDNN's threads.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() { return "intercept_tls_get_addr=0"; }
#endif

namespace deputy {
namespace {

class IsolatedModels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::string(DEPUTY_TEST_PLUGINS "/") + GetParam() + ".so"))
      GTEST_SKIP() << GetParam() << " is not built here";
  }
  static Model Built(const std::string& plugin, bool isolated) {
    Result<Context> context = Context::FromYamlText(
        "test.yaml", "version: 1\nplugins: {paths: ['" DEPUTY_TEST_PLUGINS
                     "'], trust: any}\ncache: {dir: \"off\"}\nplacement: {policy: priority}\ndelegates: [{name: '" +
                         plugin + "', isolation: " + (isolated ? "process" : "none") + "}]\n");
    EXPECT_TRUE(context.ok()) << context.status().ToString();
    Model model;
    const Status status = model.Build(DEPUTY_TEST_DIGITS, *context);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return model;
  }
  LogLines log_;
};

TEST_P(IsolatedModels, AnswerIsThatOfThePluginInProcess) {
  const Model here = Built(GetParam(), false), there = Built(GetParam(), true);
  Session session_here = *here.CreateSession(), session_there = *there.CreateSession();
  for (const int64_t count : {1, 7, 32}) {
    const Tensor pictures = Pictures(count, static_cast<uint32_t>(count));
    const std::vector<float> expected = Answer(session_here, pictures);
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(Answer(session_there, pictures), expected) << count;
  }
  EXPECT_EQ(session_there.Placement()->delegates.at(0).nodes, session_here.Placement()->delegates.at(0).nodes);
  EXPECT_EQ(session_there.Placement()->delegates.at(0).nodes > 0, std::string(GetParam()) != "null");
  EXPECT_EQ(log_.Count("broke its contract"), 0u) << log_.text();
}

// Mappings of memory that only this process can write, in its workers.
size_t MappedForReading(const std::vector<pid_t>& workers, size_t least) {
  size_t count = 0;
  for (const pid_t worker : workers) {
    std::ifstream maps("/proc/" + std::to_string(worker) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      unsigned long begin = 0, end = 0;
      char rights[5] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
      const bool shared = line.find("memfd:deputy") != std::string::npos && std::string(rights) == "r--s";
      count += shared && end - begin >= least ? 1 : 0;
    }
  }
  return count;
}

// Of plugins that run a part of the model.
class IsolatedTensors : public IsolatedModels {};

// Without a sandbox, in which a process does not let its user read its mappings.
TEST_P(IsolatedTensors, TensorsOfTheModelAreReadInPlace) {
  const Result<Context> context = Context::FromYamlText(
      "test.yaml",
      "version: 1\nplugins: {paths: ['" DEPUTY_TEST_PLUGINS
      "'], trust: any, sandbox: false}\ncache: {dir: \"off\"}\nplacement: {policy: priority}\ndelegates: [{name: " +
          std::string(GetParam()) + ", isolation: process}]\n");
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  Model model;
  const Status status = model.Build(DEPUTY_TEST_DIGITS, *context);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Tensor pictures = Pictures(512);
  Session session = *model.CreateSession();
  const std::vector<float> expected = Answer(session, pictures);
  // The arena of the graph, if the delegate does not own all of it.
  const size_t before = MappedForReading(ChildProcesses(), pictures.byte_size());
  Result<Tensor> own = model.AllocateTensor(pictures.dtype(), pictures.shape());
  ASSERT_TRUE(own.ok()) << own.status().ToString();
  std::memcpy(own->mutable_data(), pictures.data(), pictures.byte_size());
  EXPECT_EQ(Answer(session, *own), expected);
  EXPECT_EQ(MappedForReading(ChildProcesses(), pictures.byte_size()), before + 1) << log_.text();
  EXPECT_EQ(log_.Count("cannot be shared"), 0u) << log_.text();
}

TEST_P(IsolatedModels, SessionsRunAtOnce) {
  const Model model = Built(GetParam(), true);
  Session first = *model.CreateSession();
  const std::vector<float> expected = Answer(first, Pictures(4));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      Session session = *model.CreateSession();
      for (int run = 0; run < 20; ++run) wrong += Answer(session, Pictures(4)) == expected ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(IsolatedModels, AnswerComesFromTheCpuOnceTheWorkerIsKilled) {
  const Model model = Built(GetParam(), true);
  Session session = *model.CreateSession();
  const Tensor pictures = Pictures(3);
  const std::vector<float> before = Answer(session, pictures);
  const std::vector<pid_t> workers = ChildProcesses();
  ASSERT_EQ(workers.size(), 1u);
  kill(workers.front(), SIGKILL);
  const std::vector<float> after = Answer(session, pictures);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 0.05f) << i;
}

INSTANTIATE_TEST_SUITE_P(InTree, IsolatedModels, testing::Values("sim_npu", "onednn", "null"),
                         [](const auto& given) { return std::string(given.param); });

INSTANTIATE_TEST_SUITE_P(InTree, IsolatedTensors, testing::Values("sim_npu", "onednn"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace deputy
