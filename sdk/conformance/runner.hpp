// Runs tests, each in a process of its own with a time limit. A crash ends only that test: the test fails with the
// plugin's last action, and continues behind the case that crashed. A part of a test may run in a further process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "packed.hpp"
#include "test.hpp"

namespace deputy::conformance {

struct TestResult {
  std::string name;
  std::string delegate;  // "": the plugin has one, or the test is about the whole plugin
  std::vector<Finding> findings;
  double seconds = 0;
};

// In the order of `tests`.
std::vector<TestResult> RunTests(const std::vector<Test>& tests, const Settings& settings);

// In this process, for a debugger.
TestResult RunHere(const Test& test, const Settings& settings);

// Runs `job` in a process of its own, which ends before the test continues, and before this process has loaded the
// plugin, so that the parts share none of its memory. Findings of the job are findings of `run`; nothing, and a
// failure about `subject`, when the process ended early.
std::optional<Packed> InOtherProcess(TestRun& run, const std::string& subject,
                                     const std::function<Packed(TestRun&)>& job);

}  // namespace deputy::conformance
