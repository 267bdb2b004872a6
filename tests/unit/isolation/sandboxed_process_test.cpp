// What the kernel says of a worker process in a sandbox, and of one without.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "support/process_state.hpp"
#include "unit/isolation/support.hpp"

namespace deputy::host::testing {
namespace {

// The rows of /proc/PID/status, without white space.
std::map<std::string, std::string> StatusOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(file, line);)
    if (const size_t colon = line.find(":\t"); colon != std::string::npos)
      rows[line.substr(0, colon)] = line.substr(colon + 2);
  return rows;
}

TEST(SandboxedProcess, R170_HasNoCapabilityAndCannotGainOne) {
  const std::shared_ptr<RemotePlugin> remote = Remote(EverySlotPath());
  ASSERT_NE(remote, nullptr);
  std::map<std::string, std::string> status = StatusOf(ChildProcesses().front());
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) EXPECT_EQ(status[set], "0000000000000000") << set;
  // Only a process with capabilities can narrow what it may gain by programs, which this one cannot start.
  if (StatusOf(getpid())["CapEff"] != "0000000000000000") {
    EXPECT_EQ(status["CapBnd"], "0000000000000000");
  }
  EXPECT_EQ(status["NoNewPrivs"], "1");
  EXPECT_EQ(status["Seccomp"], "2");
}

TEST(SandboxedProcess, R168_IsTheFirstToBeEndedAndLeavesNoCore) {
  RemotePluginOptions user;
  user.sandbox = false;
  for (const bool sandbox : {true, false}) {
    const std::shared_ptr<RemotePlugin> remote = Remote(EverySlotPath(), sandbox ? RemotePluginOptions() : user);
    ASSERT_NE(remote, nullptr);
    const pid_t worker = ChildProcesses().front();
    int score = -1, own = -1;
    std::ifstream("/proc/" + std::to_string(worker) + "/oom_score_adj") >> score;
    std::ifstream("/proc/self/oom_score_adj") >> own;
    EXPECT_EQ(score, sandbox ? std::max(own, 500) : own);
    for (const auto resource : {RLIMIT_CORE, RLIMIT_FSIZE}) {
      rlimit limit{};
      ASSERT_EQ(prlimit(worker, resource, nullptr, &limit), 0);
      EXPECT_EQ(limit.rlim_max == 0, sandbox || resource == RLIMIT_CORE);
    }
  }
}

}  // namespace
}  // namespace deputy::host::testing
