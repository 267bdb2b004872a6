// The command line of deputy-conformance.
#pragma once

#include <string>
#include <vector>

#include "test.hpp"

namespace deputy::conformance {

constexpr int kExitPassed = 0, kExitFailed = 1, kExitUsage = 2, kExitUnexpectedPass = 3, kExitUnavailable = 4;

struct Arguments {
  Settings settings;
  std::string config;  // a YAML file
  bool verbose = false;
  bool allow_unavailable = false;
  bool help = false;
};

// False and the reason if the arguments are wrong.
bool ParseArguments(const std::vector<std::string>& words, Arguments* arguments, std::string* error);
std::string HelpText();

}  // namespace deputy::conformance
