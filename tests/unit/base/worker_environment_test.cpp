// Which variables a worker process in a sandbox gets.
#include "base/worker_environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace deputy::host::testing {
namespace {

bool IsPassed(const std::string& name, const std::vector<std::string>& patterns) {
  setenv(name.c_str(), "1", 1);
  const std::vector<std::string> passed = WorkerEnvironment(patterns);
  unsetenv(name.c_str());
  return std::find(passed.begin(), passed.end(), name + "=1") != passed.end();
}

TEST(WorkerEnvironment, R170_SecretsStayBehind) {
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "DATABASE_URL", "LANGUAGES",
                           "LD_AUDIT", "DEPUTY_TEST"})
    EXPECT_FALSE(IsPassed(name, {})) << name;
}

TEST(WorkerEnvironment, R170_WhatComputingNeedsIsPassed) {
  for (const char* name : {"LC_TEST", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "TZ", "CUDA_VISIBLE_DEVICES"})
    EXPECT_TRUE(IsPassed(name, {})) << name;
}

TEST(WorkerEnvironment, R170_PatternsAreNamesOrTheirBeginnings) {
  EXPECT_TRUE(IsPassed("ONEDNN_VERBOSE", {"ONEDNN_*"}));
  EXPECT_TRUE(IsPassed("ONEDNN_VERBOSE", {"OTHER", "ONEDNN_VERBOSE"}));
  EXPECT_TRUE(IsPassed("ONEDNN_VERBOSE", {"*"}));
  EXPECT_FALSE(IsPassed("ONEDNN_VERBOSE", {"ONEDNN_"}));
  EXPECT_FALSE(IsPassed("ONEDNN_VERBOSE", {"ONEDNN_VERBOSE_*", "NEDNN_*"}));
}

TEST(WorkerEnvironment, AssignmentsAreSet) {
  const std::vector<std::string> passed = WorkerEnvironment(std::vector<std::string>{"DEPUTY_TEST=a=b"});
  EXPECT_NE(std::find(passed.begin(), passed.end(), "DEPUTY_TEST=a=b"), passed.end());
}

TEST(WorkerEnvironment, AssignmentsReplaceTheVariableOfThisProcess) {
  EXPECT_FALSE(IsPassed("DEPUTY_TEST", {"*", "DEPUTY_TEST=2"}));
  EXPECT_TRUE(IsPassed("DEPUTY_TEST", {"*", "DEPUTY_TES=2", "DEPUTY_TEST_2=2"}));
}

TEST(WorkerEnvironment, R170_PatternsHaveOneForm) {
  for (const char* pattern : {"A", "_a1", "A_*", "*"}) EXPECT_TRUE(IsVariablePattern(pattern)) << pattern;
  for (const char* pattern : {"", "1A", "A*B", "A B", "A=1", "**", "A-B"})
    EXPECT_FALSE(IsVariablePattern(pattern)) << pattern;
}

}  // namespace
}  // namespace deputy::host::testing
