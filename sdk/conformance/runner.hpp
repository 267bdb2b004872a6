// Runs tests, each in a process of its own with a time limit. What ends a process ends that test and nothing else: the
// test fails with what the plugin was doing, and goes on behind the case that did it.
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
