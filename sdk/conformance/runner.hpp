// Runs tests, each in a process of its own with a time limit. A crash ends only that test: the test fails with the
// plugin's last action, and continues behind the case that crashed.
#pragma once

#include <string>
#include <vector>

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

}  // namespace deputy::conformance
